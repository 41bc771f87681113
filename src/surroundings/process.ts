/** The surroundings of this very process: the only place on the worker side that reads a real clock or randomness. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Surroundings } from './surroundings.ts';

/** For the places where a process is put together; everything else is given its surroundings. */
export const PROCESS_SURROUNDINGS: Surroundings = {
  clock: {
    nowMs: () => performance.now(),
    wallMs: () => Date.now(),
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  },
  random: {
    number: () => Math.random(),
    bytes: (length) => randomBytes(length),
    uuid: () => randomUUID(),
  },
};
