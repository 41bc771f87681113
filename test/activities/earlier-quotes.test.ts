import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Payload, type SerializationContext } from '@temporalio/common';
import { expect, test } from 'vitest';
import {
  quotesSent,
  type RunHistories,
  runsThatMayHaveSent,
  temporalHistories,
} from '../../src/activities/payout/earlier-runs.ts';
import type { AgreedQuote } from '../../src/contract/payout.ts';
import { KeyRing } from '../../src/encryption/key-ring.ts';
import { clientConverter } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { temporal } from '../../worlds/sdk.ts';
import { AGREED, CREATE } from '../payments/support/samples.ts';
import { NO_HISTORIES } from '../support/no-histories.ts';

const OWN = { workflowId: 'payout:default:p-1', runId: 'own' };
const CREATE_ARGUMENT = { order: CREATE, quote: AGREED };

const converter = clientConverter(new KeyRing(new Map([['k', randomBytes(32)]])), PROCESS_RUNTIME.random);
const { payloadCodecs: [codec] = [] } = converter;

async function encrypted(
  value: unknown,
  activityId = '1',
  workflowId = OWN.workflowId,
): Promise<Payload | undefined> {
  const context: SerializationContext = {
    type: 'activity',
    namespace: 'default',
    workflowId,
    activityId,
    isLocal: false,
  };
  return (await codec?.encode([defaultPayloadConverter.toPayload(value)], context))?.[0];
}

/** The quotes that a confirmation reads in another run, which has scheduled the activity `1` with each of the arguments. */
async function quotesRead(type: string, ...payloads: (Payload | undefined)[]) {
  const principal = defaultPayloadConverter.toPayload({});
  const events = payloads.map((payload) =>
    temporal.api.history.v1.HistoryEvent.create({
      activityTaskScheduledEventAttributes: {
        activityType: { name: type },
        activityId: '1',
        input: { payloads: [principal, ...(payload ? [payload] : [])] },
      },
    }),
  );
  const client = new Client({ dataConverter: converter });
  Object.defineProperty(client, 'workflowService', {
    value: { getWorkflowExecutionHistory: async () => ({ history: { events } }) },
  });
  const histories: RunHistories = {
    ...NO_HISTORIES,
    othersOf: async () => [{ runId: 'other', startedAtMs: 0 }],
    evidenceOf: temporalHistories(client).evidenceOf,
  };
  const { senders } = await runsThatMayHaveSent(histories, OWN, 'createPayout');
  expect(senders).toHaveLength(type === 'createPayout' ? 1 : 0);
  return quotesSent(senders);
}

const next: AgreedQuote = { ...AGREED, lockRateId: 'L-2' };

test('H264 finds the quotes of the create calls of another run', async () => {
  const payloads = [await encrypted(CREATE_ARGUMENT), await encrypted({ ...CREATE_ARGUMENT, quote: next })];
  expect(await quotesRead('createPayout', ...payloads)).toEqual([AGREED, next]);
  expect(await quotesRead('quotePayout', ...payloads)).toEqual([]);
});

test.each<[string, () => Promise<Payload | undefined> | Payload]>([
  ['nobody with a key has written', () => defaultPayloadConverter.toPayload(CREATE_ARGUMENT)],
  ['is of another activity', () => encrypted(CREATE_ARGUMENT, '2')],
  ['is of another payout', () => encrypted(CREATE_ARGUMENT, '1', 'payout:default:p-2')],
  ['names no quote', () => encrypted({ ...CREATE_ARGUMENT, quote: { ...AGREED, pay: 'x1' } })],
  ['is missing', async () => undefined],
])('H264 does not know the quote of a create call whose argument %s', async (_what, payload) => {
  expect(await quotesRead('createPayout', await payload())).toEqual([null]);
});

test('H264 lists the quotes of the run that sent last at the end', () => {
  const sender = (quote: AgreedQuote, lastSendByMs: number) => {
    const run = { runId: quote.lockRateId, startedAtMs: 0, lastSendByMs };
    return { ...run, sent: [{ quote }] };
  };
  expect(quotesSent([sender(next, 2), sender(AGREED, 1)])).toEqual([AGREED, next]);
});
