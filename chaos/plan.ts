/** What a seed stands for: the same payouts, faults and strikes each time. */
import { mulberry32 } from '../bench/seeded.ts';
import type { FaultInput, FaultRuleInput } from '../simulator/index.ts';

const STRIKES = ['kill-worker', 'freeze-worker', 'stop-worker', 'kill-receiver', 'kill-engine'] as const;

export interface Strike {
  atMs: number;
  kind: (typeof STRIKES)[number];
}

export interface ChaosPlan {
  seed: number;
  /** One scenario of the simulator for each payout. */
  scenarios: string[];
  faults: FaultRuleInput[];
  strikes: Strike[];
  /** Whether the service refuses a repeated create, and we know; else it would pay again, and a person decides. */
  repeatsAreRefused: boolean;
}

const PAYOUTS = 20;
/** Strikes fall while the payouts are under way; faults end with them, so that everything can come to its end. */
export const TROUBLE_MS = 25_000;
const STRIKES_A_SEED = 4;
const FIRST_STRIKE_MS = 2_000;
/** Of all requests. */
const FAULTY = 0.2;

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
] as const;

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
  { kind: 'status', status: 429 },
  { kind: 'status', status: 503, effect: 'commit' },
];
const OF_CREATES: readonly FaultInput[] = [
  { kind: 'rate-limited-but-executes' },
  { kind: 'envelope', code: 12345, effect: 'commit' },
  { kind: 'envelope', code: 12345 },
];

export function chaosPlan(seed: number): ChaosPlan {
  const random = mulberry32(seed);
  const pick = <T>(list: readonly T[]): T => {
    const picked = list[Math.floor(random() * list.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  };
  const faulty = (operation: FaultRuleInput['operation'], kinds: readonly FaultInput[]): FaultRuleInput => ({
    operation,
    probability: FAULTY,
    seed,
    kinds: [...kinds],
  });
  const strikes = Array.from({ length: STRIKES_A_SEED }, () => ({
    atMs: Math.round(FIRST_STRIKE_MS + random() * (TROUBLE_MS - FIRST_STRIKE_MS)),
    kind: pick(STRIKES),
  }));
  return {
    seed,
    scenarios: Array.from({ length: PAYOUTS }, () => pick(SCENARIOS)),
    faults: [
      faulty('token', EVERYWHERE),
      faulty('accountQuery', EVERYWHERE),
      faulty('fee', EVERYWHERE),
      faulty('createCnyOrder', [...EVERYWHERE, ...OF_CREATES]),
      faulty('queryResult', [...EVERYWHERE, { kind: 'data-null' }]),
      faulty('queryPayDetail', [...EVERYWHERE, { kind: 'data-null' }]),
    ],
    strikes: strikes.sort((one, two) => one.atMs - two.atMs),
    repeatsAreRefused: random() < 0.5,
  };
}
