/** The clocks of the virtual worlds, for servers that a test runs on a client of one. */
import type { Client } from '@temporalio/client';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import type { Clock } from '../../src/runtime/runtime.ts';

const clocks = new WeakMap<Client['connection'], Clock>();

/** Timers stay in real time: a request that waits for one does not drive the world. */
export function setVirtualClock({ connection }: Client, { nowMs, wallMs }: Omit<Clock, 'after'>): void {
  clocks.set(connection, { ...PROCESS_RUNTIME.clock, nowMs, wallMs });
}

/** Undefined for a client in real time. */
export function virtualClockOf({ connection }: Client): Clock | undefined {
  return clocks.get(connection);
}
