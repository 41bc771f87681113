import type { History } from '@temporalio/common/lib/proto-utils.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { setCallsPerSecondUpdate } from '../../src/contract/lease-messages.ts';
import { RENEWAL_VALID_MS, WINDOW_MS } from '../../src/domain/rate-limit-lease.ts';
import { eventually, PayoutWorld } from '../support/payout-world.ts';
import type { OwnProcess } from '../support/processes.ts';
import { strictWorld } from '../support/rate-limit.ts';
import { resetBefore } from '../support/resets.ts';
import {
  allPaidOnce,
  busy,
  furtherCalls,
  leaseOf,
  neverMoreThan,
  WorkerProcesses,
} from '../support/workers.ts';

type HistoryEvent = NonNullable<History['events']>[number];

const LIMIT = 20;
/** Enough to keep the limit used for a good while: each payout is at least three calls before its order is final. */
const PAYOUTS = 40;

describe('H37 the lease moves from process to process', () => {
  let world: PayoutWorld;
  let workers: WorkerProcesses;

  beforeEach(async () => {
    world = await PayoutWorld.start(strictWorld(LIMIT));
    workers = new WorkerProcesses(world);
    // The first one owns the lease, and Temporal keeps the lease's own workflow for it too.
    await workers.start();
    await workers.owner();
  });
  afterEach(async () => {
    await workers.end();
    await world.stop();
  });

  const startTwoMore = () => Promise.all([workers.start(), workers.start()]);

  test('H37 the owner is killed with -9: the next one serves, and no second holds more than the limit', async () => {
    await startTwoMore();
    const refs = await busy(world, PAYOUTS, LIMIT);
    const killed = await workers.owner();
    await killed.stop('SIGKILL');
    await workers.ownedBy((owner) => owner !== killed);
    await furtherCalls(world, LIMIT);
    await allPaidOnce(world, refs);
    neverMoreThan(world, LIMIT);
  });

  test('H37 the owner is asked to stop: the next one goes on where it left off', async () => {
    await startTwoMore();
    const refs = await busy(world, PAYOUTS, LIMIT);
    const stopping = await workers.owner();
    expect(await stopping.stop('SIGTERM')).toBe(0);
    const endedAtMs = Date.now();
    await allPaidOnce(world, refs);
    neverMoreThan(world, LIMIT);
    // It gave the lease back, and nobody had to wait for its end, or for its part of the lease's workflow.
    const { events } = await leaseOf(world).fetchHistory();
    expect(events?.some((event) => event.activityTaskCompletedEventAttributes)).toBe(true);
    expect(waitedFor(stopping, endedAtMs, events ?? [])).toEqual([]);
  });

  test('H37 H102 the owner is frozen and thaws after another served: it sends nothing that counts, and nothing is lost', async () => {
    await startTwoMore();
    const refs = await busy(world, PAYOUTS, LIMIT);
    const frozen = await workers.owner();
    frozen.child.kill('SIGSTOP');
    await workers.ownedBy((owner) => owner !== frozen);
    await furtherCalls(world, LIMIT);
    frozen.child.kill('SIGCONT');
    await allPaidOnce(world, refs);
    neverMoreThan(world, LIMIT);
  });

  test('H37 the lease is reset to before an old handover: its next owner does not believe it', async () => {
    const change = { callsPerSecond: LIMIT, by: 'olga' };
    await leaseOf(world).executeUpdate(setCallsPerSecondUpdate, { args: [change] });
    await workers.owner();
    await workers.start();
    const refs = await busy(world, PAYOUTS, LIMIT);
    const before = await workers.owner();
    // The run that this makes schedules the lease's second term again, with the words of its first owner.
    await resetBefore(world, leaseOf(world), 'holdLease', 2);
    const after = await workers.ownedBy((owner) => owner !== before);
    // Whether calls of both meet in one second is chance, so the silence itself is looked at.
    const silentMs = await eventually(() => silenceOf(after));
    expect(silentMs).toBeGreaterThanOrEqual(RENEWAL_VALID_MS + WINDOW_MS);
    await allPaidOnce(world, refs);
    neverMoreThan(world, LIMIT);
  });
});

/** The workflow tasks that timed out after a process had ended because it had them, or had the workflow in memory. */
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

/** How long the process keeps silent in the first term that it has taken, by its own log. */
function silenceOf(owner: OwnProcess): number | undefined {
  const [, silentMs] = /took the rate-limit lease[^}]*?silentMs\W+(\d+)/.exec(owner.output()) ?? [];
  return silentMs === undefined ? undefined : Number(silentMs);
}
