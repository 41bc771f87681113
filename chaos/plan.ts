/** What a seed stands for: the same payouts, faults, lies and strikes each time. */
import { mulberry32 } from '../bench/seeded.ts';
import type { FaultInput, FaultRuleInput } from '../simulator/index.ts';

const STRIKES = ['kill-worker', 'freeze-worker', 'stop-worker', 'kill-receiver', 'kill-engine'] as const;

export interface Strike {
  atMs: number;
  kind: (typeof STRIKES)[number];
}

export interface PlannedPayout {
  partnerOrderId: string;
  /** One scenario of the simulator. */
  scenario: string;
  /** In CNY, the target currency. */
  amount: string;
  /** No two payouts have the same beneficiary, so an order of another payout can be told from ours. */
  bankAccountNumber: string;
}

export interface ChaosPlan {
  seed: number;
  payouts: PlannedPayout[];
  faults: FaultRuleInput[];
  strikes: Strike[];
  /** Whether the provider refuses a repeated create, and we know; else it would pay again, and a person decides. */
  repeatsAreRefused: boolean;
  /** What the person decides where the ledger has no order. */
  withoutOrder: 'retry' | 'end';
}

const PAYOUTS = 20;
/** Strikes fall while the payouts are under way; faults and lies end with them, so that everything can end. */
export const TROUBLE_MS = 25_000;
const STRIKES_A_SEED = 4;
const FIRST_STRIKE_MS = 2_000;
/** Of all requests that were not lied to. */
const FAULTY = 0.2;

/**
 * Of all requests of an operation. Before a payout is sent, most lies end it as NOT_CREATED, which is true and shows
 * little, so there are fewer of them.
 */
const LIES = {
  token: 0.05,
  accountQuery: 0.06,
  fee: 0.08,
  createCnyOrder: 0.25,
  queryDetail: 0.25,
  queryResult: 0.3,
  queryPayDetail: 0.3,
} as const;
type LiedTo = keyof typeof LIES;
const OPERATIONS: readonly LiedTo[] = [
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

/** Longer than a call may take. */
const TOO_LONG_MS = 4_000;

const EVERYWHERE: readonly FaultInput[] = [
  { kind: 'drop-before' },
  { kind: 'drop-after' },
  { kind: 'cut-body' },
  { kind: 'html-502' },
  { kind: 'html-502', effect: 'commit' },
  { kind: 'garbage' },
  { kind: 'garbage', effect: 'none' },
  { kind: 'slow-body', ms: TOO_LONG_MS },
  { kind: 'latency', ms: TOO_LONG_MS, effect: 'before' },
  { kind: 'latency', ms: TOO_LONG_MS, effect: 'after' },
  { kind: 'envelope', code: 900000 },
  { kind: 'envelope', code: 900000, effect: 'commit' },
  { kind: 'envelope', code: 900002 },
  { kind: 'status', status: 429 },
  { kind: 'status', status: 429, retryAfter: 2 },
  { kind: 'status', status: 503, effect: 'commit' },
];
const OF_CREATES: readonly FaultInput[] = [
  { kind: 'rate-limited-but-executes' },
  { kind: 'envelope', code: 12345, effect: 'commit' },
  { kind: 'envelope', code: 12345 },
  { kind: 'envelope', code: 900002, effect: 'commit' },
];
const OF_TRADES: readonly FaultInput[] = [{ kind: 'data-null' }];

export function chaosPlan(seed: number): ChaosPlan {
  const random = mulberry32(seed);
  const pick = <T>(list: readonly T[]): T => {
    const picked = list[Math.floor(random() * list.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  };
  const strikes = Array.from({ length: STRIKES_A_SEED }, () => ({
    atMs: Math.round(FIRST_STRIKE_MS + random() * (TROUBLE_MS - FIRST_STRIKE_MS)),
    kind: pick(STRIKES),
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
    // The first rule that hits decides.
    faults: OPERATIONS.flatMap((operation) => [lying(operation, seed), failing(operation, seed)]),
    strikes: strikes.sort((one, two) => one.atMs - two.atMs),
    repeatsAreRefused: random() < 0.5,
    withoutOrder: random() < 0.5 ? 'retry' : 'end',
  };
}

function lying(operation: LiedTo, seed: number): FaultRuleInput {
  return { operation, seed, probability: LIES[operation], fault: { kind: 'random-answer' } };
}

function failing(operation: LiedTo, seed: number): FaultRuleInput {
  return { operation, seed, probability: FAULTY, kinds: [...EVERYWHERE, ...alsoAt(operation)] };
}

function alsoAt(operation: LiedTo): readonly FaultInput[] {
  if (operation === 'createCnyOrder') return OF_CREATES;
  return operation === 'queryResult' || operation === 'queryPayDetail' ? OF_TRADES : [];
}
