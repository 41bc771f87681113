/** The API server of the edges `api` and `desk`: its settings, its callers and the workflows that exist. */
import { createHash } from 'node:crypto';
import { seededRandom } from '../simulator/runtime.ts';
import { type ApiConfig, apiConfig } from '../src/config/api-config.ts';
import { type Callers, VERBS, type Verb } from '../src/config/callers.ts';
import { LISTED_OUTCOMES, ROW_OUTCOMES } from '../src/contract/codes.ts';
import { drawPayout } from './inputs/valid.ts';
import { STARTER, type StandIn } from './temporal.ts';

/** The callers: with all permissions, with few, and unknown. */
export const KEYS = {
  all: 'key-of-the-one-who-may-all',
  narrow: 'key-of-the-one-who-may-little',
  starter: 'key-of-the-starter',
};
export const NARROW: readonly Verb[] = ['read', 'start'];

const AUTHORIZATION_KEY = Buffer.alloc(32, 7).toString('base64');
export const SETTINGS: ApiConfig = {
  ...apiConfig({
    PAYOUTS_LOG_LEVEL: 'silent',
    PAYMENTS_ENVIRONMENT: 'test',
    PAYMENTS_BASE_URL: 'http://127.0.0.1:9',
    PAYOUTS_API_PROXIES: '127.0.0.1',
    PAYOUTS_DESK: 'on',
    PAYOUTS_AUTHORIZATION_KEYS: `k1:${AUTHORIZATION_KEY}`,
  }),
  callers: callers(),
};

/** Another address for each input: unknown keys and failed sign-ins of an address are limited. */
export function addressHeader(number: number): { 'x-forwarded-for': string } {
  return {
    'x-forwarded-for': `2001:db8:${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}::1`,
  };
}

/** No response contains them. */
export const SECRETS = [...Object.values(KEYS), AUTHORIZATION_KEY];

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function callers(): Callers {
  const largest = {
    CNY: '9999999999999999.99',
    USD: '9999999999999999.99',
    EUR: '9999999999999999.99',
    GBP: '9999999999999999.99',
    HKD: '9999999999999999.99',
  };
  const one = (name: string, verbs: readonly Verb[], largestAmount: Record<string, string>) => ({
    ...{ name, applications: ['default'], verbs, largestAmount },
    // A limit would refuse most inputs.
    requestsPerSecond: 'any' as const,
  });
  return {
    keys: [
      { hash: hashOf(KEYS.all), caller: one('all', VERBS, largest) },
      { hash: hashOf(KEYS.narrow), caller: one('narrow', NARROW, { CNY: '100.00' }) },
      { hash: hashOf(KEYS.starter), caller: one(STARTER, VERBS, largest) },
    ],
  };
}

function countIn(argument: unknown): unknown {
  return typeof argument === 'object' && argument !== null && 'count' in argument ? argument.count : 1;
}

export function standIn(): StandIn {
  const money = { currency: 'USD', amount: '1.00' };
  const state = { phase: 'PROCESSING', sentence: 's', nextStep: 'n', needsAttention: false, reasons: [] };
  const counts = { added: 1, started: 1, joined: 0, done: 0, rejected: 0, needingAttention: 0 };
  const zero = <T extends string>(names: readonly T[]) => Object.fromEntries(names.map((name) => [name, 0]));
  const outcomes = zero(ROW_OUTCOMES);
  const rows = Object.fromEntries(LISTED_OUTCOMES.map((end) => [end, []]));
  const batch = (argument: unknown) => ({
    ...{
      app: 'default',
      batchId: 'b',
      count: countIn(argument),
      phase: 'PAYING',
      sentence: 's',
      nextStep: 'n',
      canceled: false,
    },
    ...{ ...counts, missing: [], phases: {}, outcomes, rows },
  });
  const quote = {
    ...{
      lockRateId: 'L',
      available: money,
      exchangeRate: '7.1',
      originCurrency: 'USD',
      targetCurrency: 'CNY',
    },
    ...{ pay: money, target: money, fee: money },
  };
  return {
    ends: {
      payoutQuote: { quote },
      accountQuery: { clientId: 'C', accounts: [] },
      receivingBalanceQuery: { balance: money, accountIds: [] },
      receivingDetailQuery: { id: 'A' },
      authorizationLink:
        'http://127.0.0.1:9/entrance/authorization?app_id=a&redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2F',
    },
    states: [
      ['payout-batch:', batch],
      ['allowance:', () => ({ day: '2026-01-31', count: 0, sums: [] })],
      ['receiving-account:', () => ({ ...state, phase: 'OPENING' })],
      ['payout:', () => state],
    ],
    queries: { addedRows: [] },
    argumentOf: existingRequest,
  };
}

/** A valid request under this id, which rarely equals that of the input. */
function existingRequest(workflowId: string): unknown {
  const [kind, app = '', ownId = ''] = workflowId.split(':');
  if (kind === 'receiving-account') return { app, requestId: ownId, payerId: 'payer-1', currency: 'USD' };
  return { ...drawPayout(seededRandom(workflowId.length), app), app, partnerOrderId: ownId };
}
