import { describe, expect, test } from 'vitest';
import { schemaFiles } from '../../scripts/write-schemas.ts';
import { createPayout } from '../../src/activities/payout/create-payout.ts';
import { batchStateSchema } from '../../src/contract/batch.ts';
import { LISTED_OUTCOMES, ROW_OUTCOMES } from '../../src/contract/codes.ts';
import { stored } from '../../src/contract/fields.ts';
import { payoutResultSchema, storedResultSchema } from '../../src/contract/payout.ts';
import { checkPayoutRequest, readStoredRequest } from '../../src/contract/payout-request.ts';
import { Allowance } from '../../src/domain/daily-limits.ts';
import { PayoutRecord } from '../../src/domain/payout-record.ts';
import { payoutState } from '../../src/domain/payout-state.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { clientFor } from '../payments/support/client.ts';
import { AGREED } from '../payments/support/samples.ts';
import { NEVER_RESET } from '../support/fixed-looks.ts';
import { payoutRequest } from '../support/requests.ts';
import { SEND_POLICY } from '../support/send-policy.ts';

const AMOUNT = { currency: 'CNY', amount: '1.00' };
const RESULT = {
  ...{ partnerOrderId: 'p', outcome: 'SUCCESS', orderId: 'O-1', debits: [] },
  splits: [{ distributeId: 'S-1', target: AMOUNT, status: 'SUCCESS', refunded: false }],
};

describe('H191 what a newer 1.x version has written', () => {
  test('a result with new fields and codes is read, without them', () => {
    const newer = {
      ...RESULT,
      splits: RESULT.splits.map((split) => ({ ...split, arrivedAt: 'later' })),
      ...{ reason: { code: 'A_NEW_CODE', message: 'm' }, learnedBy: 'push', added: true },
    };
    expect(payoutResultSchema.safeParse(newer).success).toBe(false);
    const { reason, learnedBy, ...known } = storedResultSchema.parse(newer);
    expect([known, reason?.code, learnedBy]).toEqual([RESULT, 'A_NEW_CODE', 'push']);
  });

  test('an outcome or a status of a split that is not known is no result', () => {
    expect(storedResultSchema.safeParse({ ...RESULT, outcome: 'HELD' }).success).toBe(false);
    const splits = RESULT.splits.map((split) => ({ ...split, status: 'HELD' }));
    expect(storedResultSchema.safeParse({ ...RESULT, splits }).success).toBe(false);
  });

  test('a stored request with a new field is read; a new one is refused', () => {
    const request = payoutRequest('p');
    const newer = { ...request, receiver: { ...request.receiver, nickname: 'n' }, urgent: true };
    expect(checkPayoutRequest(newer)).toMatchObject({ ok: false });
    expect(readStoredRequest(newer)).toEqual(checkPayoutRequest(request));
    expect(readStoredRequest({ ...newer, clientId: undefined })).toMatchObject({ ok: false });
  });

  test('a page of a batch shows a state with new fields', () => {
    const count = 0;
    const state = {
      ...{ app: 'a', batchId: 'b', count, phase: 'DONE', sentence: 's', nextStep: 'n', canceled: false },
      ...{ added: 0, started: 0, joined: 0, done: 0, rejected: 0, needingAttention: 0 },
      ...{ missing: [], phases: {} },
      outcomes: Object.fromEntries(ROW_OUTCOMES.map((outcome) => [outcome, 0])),
      rows: Object.fromEntries(LISTED_OUTCOMES.map((outcome) => [outcome, []])),
    };
    expect(stored(batchStateSchema).parse({ ...state, paused: true })).toEqual(state);
  });

  test('the JSON schemas of answers and events accept new fields and codes, those of requests do not', () => {
    const texts = Object.entries(schemaFiles()).map(
      ([name, schema]) => [name, JSON.stringify(schema)] as const,
    );
    const strict = texts
      .filter(([, text]) => text.includes('"additionalProperties":false'))
      .map(([name]) => name);
    expect(strict).toEqual(['payout-request.json', 'receiving-account-request.json']);
    const [, state = ''] = texts.find(([name]) => name === 'payout-state.json') ?? [];
    expect(state).toContain('"examples":["SCHEDULED"');
    expect(state).toContain('"enum":["SUCCESS","PARTIAL_SUCCESS","FAILED","NOT_CREATED"]');
  });

  test('a create that requires what the sender does not know is not sent', async () => {
    const client = clientFor('http://127.0.0.1:9');
    const claim = () => Promise.reject(new Error('must not be sent'));
    const answer = await createPayout(
      {
        ...{ client, claim, policy: SEND_POLICY, pairs: { isKnown: async () => true } },
        ...{ histories: NEVER_RESET, runtime: PROCESS_RUNTIME },
      },
      { environment: 'test', app: 'default', openId: undefined },
      {
        ...{ sendWithinMs: 1_000, scheduleByMs: 0, clientId: 'c', payerId: 'p', requires: ['a guard'] },
        ...{ firstRunId: 'r', isDoubtful: false, isApproved: false },
        order: { ...payoutRequest('p'), lockRateId: 'L' },
        quote: AGREED,
      },
    );
    expect(answer).toEqual({ kind: 'not-sent', cause: 'unreachable' });
  });

  test('a daily limit that is not known refuses', () => {
    const limits = { dailyCount: 5, hourlyCount: 1 };
    const payouts = [{ currency: 'CNY', keys: 'k'.repeat(22), hundredths: '100' }];
    const refusal = new Allowance(0).refusal({ limits, payouts }, 0);
    expect(refusal?.message).toBe('has the limit hourlyCount, which only newer workers know');
    expect(new Allowance(0).refusal({ limits: { dailyCount: 5 }, payouts }, 0)).toBeUndefined();
  });

  test('a phase that is not known has a text', () => {
    const record = Object.assign(new PayoutRecord(0), { phase: 'ON_HOLD' });
    expect(payoutState(record, { partnerOrderId: 'p' })).toMatchObject({
      phase: 'ON_HOLD',
      nextStep: 'Continues on workers of the version that wrote it.',
    });
  });
});
