/** Reconciliation, follow-ups and reports of many payouts, against a list server that counts its requests. */
import { afterEach, expect, test } from 'vitest';
import type { ReconciliationReport } from '../../src/domain/reconciliation.ts';
import { ListedPayouts, reconciledPayouts } from '../support/listed-payouts.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const HOUR_MS = 3_600_000;
const RUN_MS = 15 * 60_000;

let world: VirtualWorld;
afterEach(() => world.stop());

/** The results of the reconciliations that have completed, the last one first. */
async function reports(): Promise<ReconciliationReport[]> {
  const query = "WorkflowType = 'payoutReconciliation' AND ExecutionStatus = 'Completed'";
  const made: ReconciliationReport[] = [];
  for await (const { workflowId } of world.client.workflow.list({ query }))
    made.push(await world.client.workflow.getHandle(workflowId).result());
  return made;
}

test('H262 an hour of 3,450 payouts is reconciled, followed and reported with few lists', async () => {
  world = await VirtualWorld.start({ schedules: true });
  const { followed, requests, mostPerSecond, reported } = await reconciledPayouts(world, 3_450, HOUR_MS);
  expect([followed, reported.payouts]).toEqual([3_450, 3_450]);
  expect(mostPerSecond).toBeLessThanOrEqual(30);
  expect(requests).toBeLessThan(60);
  expect(reported.requests).toBeLessThan(10);
});

test('H260 payouts that cannot be reconciled are kept apart, and stop nothing', async () => {
  world = await VirtualWorld.start({ schedules: true });
  const fromMs = world.clock.wallMs();
  const isUnreadable = (at: number) => at < 3;
  const list = new ListedPayouts(world, { count: 60, fromMs, untilMs: fromMs + HOUR_MS, isUnreadable });
  await world.pass(HOUR_MS + 2 * RUN_MS);
  const unreadable = [0, 1, 2].map((at) => `payout:default:made-up-${at}`);
  const [last] = await reports();
  expect(last?.seenUntilMs).toBeGreaterThan(fromMs + HOUR_MS);
  expect(last?.unresolved.toSorted()).toEqual(unreadable);
  expect(last?.notReconciled).toMatchObject(
    unreadable.map(() => ({ reason: expect.stringMatching(/cannot be read/) })),
  );
  expect(list.followedAtMs.size).toBe(57);
  list.makeReadable();
  await world.pass(RUN_MS + 60_000);
  expect(list.followedAtMs.size).toBe(60);
  expect((await reports())[0]).toMatchObject({ unresolved: [], notReconciled: [] });
});

test('H261 the sweep finds payouts that lists show only hours after their end', async () => {
  world = await VirtualWorld.start({ schedules: true });
  const fromMs = world.clock.wallMs();
  const lateMs = (at: number) => (at % 10 === 0 ? 3 * HOUR_MS : 0);
  const list = new ListedPayouts(world, { count: 60, fromMs, untilMs: fromMs + HOUR_MS, lateMs });
  await world.pass(HOUR_MS + RUN_MS);
  expect(list.followedAtMs.size).toBe(54);
  await world.pass(3 * HOUR_MS + RUN_MS);
  expect(list.followedAtMs.size).toBe(60);
});
