/**
 * Queries while workers die, in virtual time. `kills-and-queries.full.test.ts` and `queries.full.test.ts` do the same with
 * real processes, for longer.
 */
import { expect, test } from 'vitest';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { batchesOf, manyRows } from '../support/batches.ts';
import { eventually } from '../support/eventually.ts';
import { differing } from '../support/histories.ts';
import { getOnce, startApiServer } from '../support/http.ts';
import { debitsOf } from '../support/ledger.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const PAYOUTS = 12;
const ROWS = 8;
const KILL_EVERY_MS = 9_000;
/** How long the replacement of a killed process takes to start. */
const START_MS = 3_000;
const QUERY_EVERY_MS = 500;
const LAST_MS = 40_000;

/** Temporal's code: a history event arrived during the task, so the task runs again. */
const UNHANDLED_COMMAND = 1;

test('H52 H62 workers are killed while every workflow is queried twice a second: no task fails, all replay, all end', async () => {
  const world = await VirtualWorld.start({
    workers: 2,
    schedules: true,
    env: {
      // A worker that is killed during a create would leave a payout in review.
      PAYMENTS_REPEATED_CREATE: 'safe',
      PAYOUTS_POLL_FIRST: '1s',
      PAYOUTS_POLL_MAX: '3s',
      PAYOUTS_RECONCILE_EVERY: '3s',
      PAYOUTS_FOLLOW_UP: '3s,6s,9s,12s',
    },
    settings: { applicationTokenSeconds: 60 },
  });
  const service = await startApiServer(world.client);
  const { processes, world: time } = world.system;
  const endsAt = time.now + LAST_MS;

  async function every(ms: number, act: (nth: number) => void): Promise<void> {
    for (let nth = 0; time.now < endsAt; nth += 1) {
      await time.sleep(ms);
      act(nth);
    }
  }
  let kills = 0;
  const kill = () => {
    const killed = processes[kills % processes.length];
    killed?.kill();
    kills += 1;
    time.at(START_MS, () => killed?.start());
  };
  const requests: PayoutRequest[] = [];
  const begin = (request: PayoutRequest) => {
    requests.push(request);
    return world.payouts.start(request);
  };
  const answers: Promise<boolean>[] = [];
  const query = () => {
    for (const { partnerOrderId } of requests)
      answers.push(
        getOnce(`${service.url}/v1/payouts/${partnerOrderId}`).then(({ status }) => status === 200),
      );
    for (const { workflowId, isRunning } of world.system.server.runs)
      if (isRunning && !workflowId.startsWith('payout:'))
        answers.push(
          world.client.workflow
            .getHandle(workflowId)
            .query('__temporal_workflow_metadata')
            .then(
              () => true,
              () => false,
            ),
        );
  };
  try {
    const rows = manyRows(ROWS, 'success final=5s');
    const planned = manyRows(PAYOUTS, 'success final=10s');
    const ended = world.drive(Promise.all([every(KILL_EVERY_MS, kill), every(QUERY_EVERY_MS, query)]));
    await batchesOf(world).start({ batchId: newPartnerOrderId(), payouts: rows });
    for (const request of planned) {
      await begin(request);
      await world.pass(1_000);
    }
    await ended;
    const all = [...planned, ...rows];
    const results = await Promise.all(all.map((request) => world.payouts.result(request)));
    expect(results.map(({ outcome }) => outcome)).toEqual(all.map(() => 'SUCCESS'));
    expect(all.filter((request) => debitsOf(world, request) !== 1)).toEqual([]);
    expect(kills).toBeGreaterThan(3);
    expect((await world.drive(Promise.all(answers))).filter(Boolean).length).toBeGreaterThan(0);
    expect(time.occurred).toContain('a query ran ahead of the next workflow task');
    await eventually(async () => {
      const { count } = await world.client.workflow.count("WorkflowType = 'payoutFollowUp'");
      return count > 0 || undefined;
    });
    const types = new Set<string>();
    const histories = [];
    for await (const { workflowId, runId, type } of world.client.workflow.list()) {
      types.add(type);
      const history = await world.client.workflow.getHandle(workflowId, runId).fetchHistory();
      const failed = history.events?.flatMap(({ workflowTaskFailedEventAttributes: task }) =>
        task && task.cause !== UNHANDLED_COMMAND ? [task.failure?.message] : [],
      );
      expect(failed).toEqual([]);
      histories.push({ workflowId, history });
    }
    expect(await differing(histories)).toEqual([]);
    const expected = ['payout', 'payoutBatch', 'payoutFollowUp', 'tokenRenewal', 'rateLimitLease'];
    expect([...types]).toEqual(expect.arrayContaining(expected));
  } finally {
    await service.close();
    await world.stop();
  }
});
