/** The runtime of this process: the only module on the worker side that reads a real clock or real randomness. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Runtime } from './runtime.ts';

/** For the entry points of a process. All other code receives its runtime as a parameter. */
export const PROCESS_SURROUNDINGS: Runtime = {
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
