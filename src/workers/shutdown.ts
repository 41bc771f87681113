/** Shuts a process down: first the leases, then the workflows. */
import { type Clock, sleep } from '../surroundings/surroundings.ts';
import { shutDown } from './activity-worker.ts';
import { LEASE_HANDOVER_MS } from './timeouts.ts';
import type { ProcessWorkers } from './worker.ts';

/** A second signal ends the process immediately. */
export function shutDownOnSignal(workers: ProcessWorkers, clock: Clock): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void shutDownInOrder(workers, clock));
}

/** Resolves when the shutdown of all workers has been requested. Each worker ends after its running tasks. */
export async function shutDownInOrder(
  { workflows, applications }: ProcessWorkers,
  clock: Clock,
): Promise<void> {
  for (const application of applications) shutDown(application);
  await sleep(clock, LEASE_HANDOVER_MS);
  shutDown(workflows);
}
