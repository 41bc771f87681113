import type { History } from '@temporalio/common/lib/proto-utils.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { setCallsPerSecondUpdate } from '../../src/contract/lease-messages.ts';
import { RENEWAL_VALID_MS, WINDOW_MS } from '../../src/domain/rate-limit-lease.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import type { OwnProcess } from '../support/processes.ts';
import { strictWorld } from '../support/rate-limit.ts';
import { resetBefore } from '../support/resets.ts';
import {
  allPaidOnce,
  expectAtMost,
  leaseOf,
  payUntilBusy,
  untilMoreCalls,
  WorkerProcesses,
} from '../support/workers.ts';

type HistoryEvent = NonNullable<History['events']>[number];

const LIMIT = 20;
/** Enough to use the limit for a while: each payout makes at least three calls before its order is final. */
const PAYOUTS = 40;

describe('H37 the lease moves between processes', () => {
  let world: PayoutWorld;
  let workers: WorkerProcesses;

  beforeEach(async () => {
    world = await PayoutWorld.start(strictWorld(LIMIT));
    workers = new WorkerProcesses(world);
    // The first process owns the lease, and Temporal's sticky queue for the lease workflow is its own, too.
    await workers.start();
    await workers.owner();
  });
  afterEach(async () => {
    await workers.end();
    await world.stop();
  });

  const startTwoMore = () => Promise.all([workers.start(), workers.start()]);

  test('H37 the owner is killed with SIGKILL: the next one serves, and no second exceeds the limit', async () => {
    await startTwoMore();
    const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
    const killed = await workers.owner();
    await killed.stop('SIGKILL');
    await workers.ownedBy((owner) => owner !== killed);
    await untilMoreCalls(world, LIMIT);
    await allPaidOnce(world, refs);
    expectAtMost(world, LIMIT);
  });

  test('H37 the owner is stopped: the next one continues where it left off', async () => {
    await startTwoMore();
    const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
    const stopping = await workers.owner();
    expect(await stopping.stop('SIGTERM')).toBe(0);
    const endedAtMs = Date.now();
    await allPaidOnce(world, refs);
    expectAtMost(world, LIMIT);
    // It released the lease, so no process waited for its timeout or for its workflow task.
    const { events } = await leaseOf(world).fetchHistory();
    expect(events?.some((event) => event.activityTaskCompletedEventAttributes)).toBe(true);
    expect(waitedFor(stopping, endedAtMs, events ?? [])).toEqual([]);
  });

  test('H37 H102 the owner freezes and resumes after another served: it sends nothing that counts, and nothing is lost', async () => {
    await startTwoMore();
    const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
    const frozen = await workers.owner();
    frozen.child.kill('SIGSTOP');
    await workers.ownedBy((owner) => owner !== frozen);
    await untilMoreCalls(world, LIMIT);
    frozen.child.kill('SIGCONT');
    await allPaidOnce(world, refs);
    expectAtMost(world, LIMIT);
  });

  test('H37 the lease is reset to before an old handover: its next owner ignores that handover', async () => {
    const change = { callsPerSecond: LIMIT, by: 'olga' };
    await leaseOf(world).executeUpdate(setCallsPerSecondUpdate, { args: [change] });
    await workers.owner();
    await workers.start();
    const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
    const before = await workers.owner();
    // The run that the reset creates schedules the lease's second term again, with the handover of its first owner.
    await resetBefore(world, leaseOf(world), 'holdLease', 2);
    const after = await workers.ownedBy((owner) => owner !== before);
    // Whether calls of both owners meet in one second is chance, so the test checks the silence itself.
    const silentMs = await eventually(() => silenceOf(after));
    expect(silentMs).toBeGreaterThanOrEqual(RENEWAL_VALID_MS + WINDOW_MS);
    await allPaidOnce(world, refs);
    expectAtMost(world, LIMIT);
  });
});

/** The workflow tasks that timed out because the process that held them, or had the workflow in memory, had ended. */
function waitedFor(
  { child }: OwnProcess,
  endedAtMs: number,
  events: readonly HistoryEvent[],
): HistoryEvent[] {
  const isOf = (identity?: string | null) => identity?.startsWith(`${child.pid}@`) ?? false;
  let isHolder = false;
  return events.filter((event) => {
    const { workflowTaskStartedEventAttributes: started, workflowTaskTimedOutEventAttributes: late } = event;
    isHolder = started ? isOf(started.identity) : isHolder;
    return late && isHolder && tsToMs(event.eventTime) > endedAtMs;
  });
}

/** How long the process stays silent in the first term that it took, according to its log. */
function silenceOf(owner: OwnProcess): number | undefined {
  const [, silentMs] = /"event":"lease\.taken".*?"silentMs":(\d+)/.exec(owner.output()) ?? [];
  return silentMs === undefined ? undefined : Number(silentMs);
}
