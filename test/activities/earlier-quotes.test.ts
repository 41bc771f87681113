import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Payload, type SerializationContext } from '@temporalio/common';
import { expect, test } from 'vitest';
import { quotesIn, temporalHistories } from '../../src/activities/payout/earlier-runs.ts';
import type { AgreedQuote } from '../../src/contract/payout.ts';
import { KeyRing } from '../../src/encryption/key-ring.ts';
import { clientConverter } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import type { HistoryEvent } from '../../src/temporal/histories.ts';

const WORKFLOW_ID = 'payout:default:p-1';
const RUN = { runId: 'run', startedAtMs: 0 };
const money = (amount: string, currency = 'USD') => ({ amount, currency });
const quote: AgreedQuote = {
  lockRateId: 'lock-1',
  exchangeRate: '7.1',
  pay: money('14.08'),
  target: money('100.00', 'CNY'),
  fee: money('0.07'),
};

const converter = clientConverter(new KeyRing(new Map([['k', randomBytes(32)]])), PROCESS_RUNTIME.random);
const { payloadCodecs: [codec] = [] } = converter;

async function encrypted(value: unknown, activityId: string, workflowId = WORKFLOW_ID): Promise<Payload[]> {
  const context: SerializationContext = {
    type: 'activity',
    namespace: 'default',
    workflowId,
    activityId,
    isLocal: false,
  };
  return (await codec?.encode([defaultPayloadConverter.toPayload(value)], context)) ?? [];
}

/** A history in which the activity `1` of this type completes with each of `results`. */
function historyOf(type: string, ...results: Payload[][]): HistoryEvent[] {
  return [
    { eventId: '5', activityTaskScheduledEventAttributes: { activityType: { name: type }, activityId: '1' } },
    ...results.map((payloads) => ({
      activityTaskCompletedEventAttributes: { scheduledEventId: '5', result: { payloads } },
    })),
  ].map((event) => event as unknown as HistoryEvent);
}

function quotesOf(events: HistoryEvent[]): Promise<AgreedQuote[]> {
  const client = new Client({ dataConverter: converter });
  Object.defineProperty(client, 'workflowService', {
    value: { getWorkflowExecutionHistory: async () => ({ history: { events } }) },
  });
  return quotesIn(temporalHistories(client), WORKFLOW_ID, [RUN]);
}

test('H264 finds what an ended run was quoted, each lock once', async () => {
  const result = { kind: 'quote', quote: { ...quote, originCurrency: 'USD', targetCurrency: 'CNY' } };
  expect(await quotesOf(historyOf('quoteForClient', await encrypted(result, '1')))).toEqual([quote]);
  const begun = await encrypted({ prepared: {}, quote: result }, '1');
  expect(await quotesOf(historyOf('beginPayout', begun, begun))).toEqual([quote]);
});

test('H264 ignores results that nobody with a key has written for that activity', async () => {
  const forged = { quote: { ...quote, exchangeRate: 'x1' } };
  expect(await quotesOf(historyOf('quoteForClient', [defaultPayloadConverter.toPayload(forged)]))).toEqual(
    [],
  );
  expect(await quotesOf(historyOf('quoteForClient', await encrypted({ quote }, '2')))).toEqual([]);
  expect(
    await quotesOf(historyOf('quoteForClient', await encrypted({ quote }, '1', 'payout:default:p-2'))),
  ).toEqual([]);
  expect(await quotesOf(historyOf('confirmOrder', await encrypted({ quote }, '1')))).toEqual([]);
});
