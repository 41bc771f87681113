/**
 * How a process ends in good order: the leases go first. Who gets one next is decided by a task of the lease's own
 * workflow, and Temporal may have kept that workflow for this very process.
 */
import { type Clock, sleep } from '../surroundings/surroundings.ts';
import type { Runnable } from './activity-worker.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** For that task; one that comes later waits for Temporal to give it to another process, which takes seconds. */
const HANDS_OVER_WITHIN_MS = 1_000;

/** The second signal ends the process at once. */
export function endWhenAsked(workflows: Runnable, servers: readonly Runnable[], clock: Clock): void {
  for (const signal of SIGNALS) process.once(signal, () => void endInOrder(workflows, servers, clock));
}

/** Resolves when all have been asked; each ends when what it has under way is over. */
export async function endInOrder(
  workflows: Runnable,
  servers: readonly Runnable[],
  clock: Clock,
): Promise<void> {
  for (const server of servers) shutDown(server);
  await sleep(clock, HANDS_OVER_WITHIN_MS);
  shutDown(workflows);
}

function shutDown(one: Runnable): void {
  if (one.getState() === 'RUNNING') one.shutdown();
}
