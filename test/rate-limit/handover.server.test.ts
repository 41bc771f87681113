/** Real processes that hold the lease in turn, in one world: its strict provider counts the calls of all of them. */
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { type Cuttable, cuttable } from '../support/cuttable.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import type { OwnProcess } from '../support/processes.ts';
import { strictWorld } from '../support/rate-limit.ts';
import {
  allPaidOnce,
  expectAtMost,
  leaseOf,
  payUntilBusy,
  untilMoreCalls,
  WorkerProcesses,
} from '../support/workers.ts';

const { TIMEOUT_TYPE_START_TO_CLOSE } = proto.temporal.api.enums.v1.TimeoutType;
type HistoryEvent = NonNullable<History['events']>[number];
interface Ways {
  temporal: Cuttable;
  provider: Cuttable;
}

const LIMIT = 20;
/** Enough to use the limit for a while: each payout makes at least three calls before its order is final. */
const PAYOUTS = 20;

describe('H37 the lease moves between processes', () => {
  let world: PayoutWorld;
  let workers: WorkerProcesses;
  let hasFailed = false;
  const ways = new Map<OwnProcess, Ways>();

  beforeAll(async () => {
    world = await PayoutWorld.start(strictWorld(LIMIT));
    workers = new WorkerProcesses(world);
    // The first process owns the lease, and Temporal's sticky queue for the lease workflow is its own, too.
    await startWorker();
    await workers.owner();
    await Promise.all([startWorker(), startWorker()]);
  });
  // Each test continues with the processes that the tests before it left.
  beforeEach(({ skip }) => skip(hasFailed, 'a test before it failed'));
  afterEach(({ task }) => {
    hasFailed ||= task.result?.state === 'fail';
  });
  afterAll(async () => {
    await workers.end();
    for (const { temporal, provider } of ways.values()) {
      temporal.close();
      provider.close();
    }
    await world.stop();
  });

  async function startWorker(): Promise<void> {
    const [temporal, provider] = await Promise.all([
      cuttable(world.address),
      cuttable(new URL(world.simulator.url).host),
    ]);
    const url = `http://${provider.address}`;
    const environment = {
      TEMPORAL_ADDRESS: temporal.address,
      PAYMENTS_BASE_URL: url,
      PAYMENTS_AUTH_URL: url,
    };
    ways.set(await workers.start(environment), { temporal, provider });
  }

  /** While payouts use the limit, `breaks` breaks the owner and `mends` mends it after another process has served. */
  async function whileBusy(
    breaks: (owner: OwnProcess, ways?: Ways) => Promise<unknown> | unknown,
    mends: (owner: OwnProcess, ways?: Ways) => unknown = () => undefined,
  ): Promise<void> {
    const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
    const broken = await workers.owner();
    await breaks(broken, ways.get(broken));
    await workers.ownedBy((owner) => owner !== broken);
    await untilMoreCalls(world, LIMIT);
    mends(broken, ways.get(broken));
    await expectPaid(refs);
  }

  async function expectPaid(refs: readonly PayoutRef[]): Promise<void> {
    await allPaidOnce(world, refs);
    expectAtMost(world, LIMIT);
  }

  test('H37 the owner is stopped: the next one continues where it left off', async () => {
    const refs = await payUntilBusy(world, PAYOUTS, LIMIT);
    const stopping = await workers.owner();
    expect(await stopping.stop('SIGTERM')).toBe(0);
    const endedAtMs = Date.now();
    await expectPaid(refs);
    // It released the lease, so no process waited for its timeout or for its workflow task.
    const { events } = await leaseOf(world).fetchHistory();
    expect(events?.some((event) => event.activityTaskCompletedEventAttributes)).toBe(true);
    expect(waitedFor(stopping, endedAtMs, events ?? [])).toEqual([]);
  });

  test('H37 H102 the owner freezes and resumes after another served: it sends nothing that counts, and nothing is lost', () =>
    whileBusy(
      ({ child }) => child.kill('SIGSTOP'),
      ({ child }) => child.kill('SIGCONT'),
    ));

  test('H37 the owner loses Temporal, but not the provider: both together stay within the limit', () =>
    whileBusy(
      (_owner, to) => to?.temporal.cut(),
      (_owner, to) => to?.temporal.mend(),
    ));

  test('H37 the owner is killed with SIGKILL: the next one serves, and no second exceeds the limit', () =>
    whileBusy((owner) => owner.stop('SIGKILL')));

  test('H131 the calls of the owner do not reach the provider: it releases the lease to another process', async () => {
    await startWorker();
    await whileBusy((_owner, to) => to?.provider.cut());
  });
});

/**
 * The workflow tasks that timed out because the process that held them had ended. A task on the sticky queue of a process
 * that stops slowly waits for two seconds at most, so it does not count.
 */
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
    return (
      late &&
      isHolder &&
      late.timeoutType === TIMEOUT_TYPE_START_TO_CLOSE &&
      tsToMs(event.eventTime) > endedAtMs
    );
  });
}
