/** What a seed determines: payouts, faults, random answers and disruptions. */
import { mulberry32 } from '../bench/seeded.ts';
import { type FaultInput, type FaultRuleInput, transportFaults } from '../simulator/index.ts';

const DISRUPTIONS = [
  'kill-worker',
  'freeze-worker',
  'stop-worker',
  'kill-api-server',
  'kill-temporal',
] as const;

export interface Disruption {
  atMs: number;
  kind: (typeof DISRUPTIONS)[number];
}

export interface PlannedPayout {
  partnerOrderId: string;
  /** A scenario of the simulator. */
  scenario: string;
  /** In CNY, the target currency. */
  amount: string;
  /** No two payouts have the same beneficiary, so that the order of another payout is recognizable. */
  bankAccountNumber: string;
}

export interface ChaosPlan {
  seed: number;
  payouts: PlannedPayout[];
  faults: FaultRuleInput[];
  disruptions: Disruption[];
  /** Whether the provider refuses a repeated create, and the product knows; otherwise it pays again, and a person decides. */
  repeatsAreRefused: boolean;
  /** What the person decides when the ledger has no order. */
  withoutOrder: 'retry' | 'end';
}

const PAYOUTS = 20;
/** Faults, random answers and disruptions end after this time, so that every payout can end. */
export const DISRUPTED_MS = 25_000;
const DISRUPTIONS_PER_SEED = 4;
const FIRST_DISRUPTION_MS = 2_000;
/** The share of requests with a fault, among those without a random answer. */
const FAULT_RATE = 0.2;

/**
 * The share of random answers, by operation. Before a send, most of them end the payout as NOT_CREATED, which is true and shows
 * little, so there are fewer.
 */
const RANDOM_ANSWERS = {
  token: 0.05,
  accountQuery: 0.06,
  fee: 0.08,
  createCnyOrder: 0.25,
  queryDetail: 0.25,
  queryResult: 0.3,
  queryPayDetail: 0.3,
} as const;
type Operation = keyof typeof RANDOM_ANSWERS;
const OPERATIONS: readonly Operation[] = [
  'token',
  'accountQuery',
  'fee',
  'createCnyOrder',
  'queryDetail',
  'queryResult',
  'queryPayDetail',
];

const SCENARIOS = [
  'success',
  'success notify=lost',
  'success notify=doubled',
  'success notify=early',
  'success notify=late:2s',
  'success notify=out-of-order',
  'success notify=forged',
  'success notify=wrong-order',
  'split splits=3',
  'partial',
  'failure',
  'failure detail=none',
  'rejected',
  'slow final=3s',
  'slow final=15s notify=none',
  'returned final=4s',
  'complete-late',
  'detail-late',
  'refund after=0ms',
  'drift',
  'lock-ignored',
  'no-out-order-id',
  'sums-wrong for=3s',
  'unknown-status for=3s',
  'v2-disagrees for=3s',
  'failed-received for=3s',
  'debit-differs for=3s',
] as const;

/** Up to the 18 digits that the spec allows. */
const AMOUNTS = ['100.00', '0.50', '712.34', '1234567890.12', '9999999999999999.99'] as const;

/** Longer than the timeout of a call. */
const BEYOND_TIMEOUT_MS = 4_000;

const COMMON_FAULTS: readonly FaultInput[] = [
  ...transportFaults(BEYOND_TIMEOUT_MS),
  { kind: 'envelope', code: 900000 },
  { kind: 'envelope', code: 900000, effect: 'commit' },
  { kind: 'envelope', code: 900002 },
  { kind: 'status', status: 429 },
  { kind: 'status', status: 429, retryAfter: 2 },
  { kind: 'status', status: 503, effect: 'commit' },
];
const CREATE_FAULTS: readonly FaultInput[] = [
  { kind: 'rate-limited-but-executes' },
  { kind: 'envelope', code: 12345, effect: 'commit' },
  { kind: 'envelope', code: 12345 },
  { kind: 'envelope', code: 900002, effect: 'commit' },
];
const TRADE_FAULTS: readonly FaultInput[] = [{ kind: 'data-null' }];

export function chaosPlan(seed: number): ChaosPlan {
  const random = mulberry32(seed);
  const pick = <T>(list: readonly T[]): T => {
    const picked = list[Math.floor(random() * list.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  };
  const disruptions = Array.from({ length: DISRUPTIONS_PER_SEED }, () => ({
    atMs: Math.round(FIRST_DISRUPTION_MS + random() * (DISRUPTED_MS - FIRST_DISRUPTION_MS)),
    kind: pick(DISRUPTIONS),
  }));
  const payouts = Array.from({ length: PAYOUTS }, (_, at) => ({
    partnerOrderId: `chaos-${seed}-${at}`,
    scenario: pick(SCENARIOS),
    amount: pick(AMOUNTS),
    bankAccountNumber: `62220200${String(at).padStart(8, '0')}`,
  }));
  return {
    seed,
    payouts,
    // The first matching rule applies.
    faults: OPERATIONS.flatMap((operation) => [randomAnswers(operation, seed), faultRule(operation, seed)]),
    disruptions: disruptions.sort((one, two) => one.atMs - two.atMs),
    repeatsAreRefused: random() < 0.5,
    withoutOrder: random() < 0.5 ? 'retry' : 'end',
  };
}

function randomAnswers(operation: Operation, seed: number): FaultRuleInput {
  return { operation, seed, probability: RANDOM_ANSWERS[operation], fault: { kind: 'random-answer' } };
}

function faultRule(operation: Operation, seed: number): FaultRuleInput {
  return { operation, seed, probability: FAULT_RATE, kinds: [...COMMON_FAULTS, ...furtherFaults(operation)] };
}

function furtherFaults(operation: Operation): readonly FaultInput[] {
  if (operation === 'createCnyOrder') return CREATE_FAULTS;
  return operation === 'queryResult' || operation === 'queryPayDetail' ? TRADE_FAULTS : [];
}
