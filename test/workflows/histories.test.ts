import { tsToMs } from '@temporalio/common/lib/time.js';
import { describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { eventually } from '../support/eventually.ts';
import {
  differing,
  digestOf,
  recordedDigests,
  recordedFiles,
  recordedHistories,
} from '../support/histories.ts';
import { createsOf } from '../support/ledger.ts';
import { NO_POLLS, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

describe('H39 the history of a payout that stays open is bounded', () => {
  test('it continues as new below 500 events, and keeps its state', async () => {
    const world = await startWorld({ env: { PAYOUTS_POLL_FIRST: '10ms', PAYOUTS_POLL_MAX: '10ms' } });
    try {
      const ref = await world.pay('stuck');
      const { runId: first } = await world.payouts.handle(ref).describe();
      const second = await eventually(() => otherRun(world, ref, [first]));
      await eventually(() => otherRun(world, ref, [first, second]));
      const { startTime } = await world.client.workflow
        .getHandle(world.payouts.handle(ref).workflowId, second)
        .describe();
      // Lists filter by the first start, though Temporal's start time is that of the latest run.
      const { startedAt } = await eventually(async () => {
        const { payouts } = await world.payouts.listPage({ createdTo: startTime.toISOString() });
        return payouts.find(({ partnerOrderId }) => partnerOrderId === ref.partnerOrderId);
      });
      expect(Date.parse(startedAt)).toBeLessThan(startTime.getTime());
      await world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
      expect((await world.payouts.result(ref)).quote).toBeDefined();
      for (const runId of [first, second]) {
        const { workflowId } = world.payouts.handle(ref);
        const history = await world.client.workflow.getHandle(workflowId, runId).fetchHistory();
        expect(history.events?.length).toBeLessThan(500);
      }
      expect(createsOf(world, ref).length).toBe(1);
    } finally {
      await world.stop();
    }
  });

  test('also once a person has named its order', async () => {
    const world = await startWorld({
      env: {
        PAYMENTS_CALL_TIMEOUT: '500ms',
        PAYOUTS_CONFIRMATION_WINDOW: '1ms',
        PAYOUTS_POLL_FIRST: '10ms',
        PAYOUTS_POLL_MAX: '10ms',
      },
    });
    try {
      const ref = await world.payWithFault({ kind: 'drop-after' }, 'stuck readLag=1h');
      await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
      const [order] = world.simulator.control.ledgerOf(ref.partnerOrderId).orders;
      await world.payouts.resolve(ref, { by: 'olga', created: true, orderId: order?.orderId ?? '' });
      const { runId } = await world.payouts.handle(ref).describe();
      await eventually(() => otherRun(world, ref, [runId]));
    } finally {
      await world.stop();
    }
  });

  test('also when only updates make it query: they are answered, and it continues as new', async () => {
    const world = await startWorld({ env: NO_POLLS });
    try {
      const ref = await world.pay('slow final=1h');
      await world.until(ref, ({ phase }) => phase === 'PROCESSING');
      const { runId } = await world.payouts.handle(ref).describe();
      await world.lengthen(ref);
      expect((await world.payouts.poll(ref)).phase).toBe('PROCESSING');
      const next = await eventually(async () =>
        (await world.sinceLastCall(ref, runId)).find(
          ({ timerStartedEventAttributes: timer, workflowExecutionContinuedAsNewEventAttributes: ended }) =>
            ended ?? (timer && tsToMs(timer.startToFireTimeout) > 60_000),
        ),
      );
      expect(next.workflowExecutionContinuedAsNewEventAttributes).toBeTruthy();
    } finally {
      await world.stop();
    }
  });

  async function otherRun(world: TestWorld, ref: PayoutRef, known: string[]): Promise<string | undefined> {
    const { runId } = await world.payouts.handle(ref).describe();
    return known.includes(runId) ? undefined : runId;
  }
});

describe('H40 every recorded history replays', () => {
  test('the whole corpus', async () => {
    const corpus = recordedHistories();
    expect(corpus.length).toBeGreaterThan(0);
    expect(await differing(corpus)).toEqual([]);
  });

  test('the corpus is unchanged', () => {
    const files = recordedFiles();
    expect(Object.fromEntries(files.map((file) => [file, digestOf(file)]))).toEqual(recordedDigests());
    expect(files.length).toBeGreaterThan(0);
  });
});
