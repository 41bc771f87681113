/** What may happen to the lease of the first application. What it carries must outlast each. */

import { Leases } from '../../src/client/leases.ts';
import { leaseWorkflowId } from '../../src/contract/ids.ts';
import type { PayoutWorld } from '../../worlds/payouts/payout-world.ts';
import { EventType } from '../../worlds/temporal/history.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
export const LEASE = leaseWorkflowId('test', 'demo-app');

/** The process that owns the lease. */
export function leaseOwner({ server, processes }: PayoutWorld) {
  const run = server.latest(LEASE);
  const [held] = run ? server.pendingOf(run) : [];
  return processes.find(({ name }) => name === held?.identity);
}

export const LEASE_CHANGES: readonly [string, (system: PayoutWorld) => Promise<void>][] = [
  ['the owner is killed', async (system) => leaseOwner(system)?.kill()],
  [
    'every process restarts',
    async ({ world, processes }) => {
      for (const process of processes) process.kill();
      await world.run({ withinMs: 5 * MINUTE });
      for (const process of processes) process.start();
    },
  ],
  [
    'the lease is terminated',
    async ({ world, client }) => {
      await world.finish(client.workflow.getHandle(LEASE).terminate());
    },
  ],
  [
    'the lease is reset to its start',
    async ({ server }) => {
      const run = server.latest(LEASE);
      const first = run?.entries.find(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
      if (run) server.reset(run, first?.id ?? 0, 'a try');
    },
  ],
  [
    'the lease continues as new',
    async ({ world, client, server }) => {
      const rateLimits = new Leases(client, 'test');
      const before = server.latest(LEASE);
      for (let rate = 20; server.latest(LEASE) === before; rate = 41 - rate) {
        await world.finish(rateLimits.setCallsPerSecond('default', rate, 'olga'));
        await world.run({ withinMs: 5 * SECOND });
      }
    },
  ],
];
