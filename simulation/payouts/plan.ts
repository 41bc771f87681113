/** What a seed stands for: who pays, what the provider does, what strikes whom, and how people behave. */
import type { FaultInput, FaultRuleInput, SettingsChange } from '../../simulator/index.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutRequestInput } from '../../src/contract/payout-request.ts';
import type { Trip } from '../provider/transport.ts';
import type { Losses } from '../temporal/rpc.ts';
import type { ProcessFaults } from '../temporal/workflow-tasks.ts';
import { Random } from '../world/random.ts';
import { batchIn, type PlannedBatch } from './batches.ts';
import { calmed } from './calm.ts';
import { type PlannedRotation, rotationIn } from './key-rotation.ts';
import { openingsIn, type PlannedOpening } from './openings.ts';
import { payoutRequest } from './payout-world.ts';
import { TOKENS } from './secrets.ts';
import { type PlannedStandstill, standstillIn } from './standstill.ts';
import { type PlannedUsers, usersIn } from './users.ts';

export const STRIKES = ['kill', 'stop', 'freeze', 'cut-off', 'cut-off-from-provider', 'clock-jump'] as const;
export type StrikeKind = (typeof STRIKES)[number];

export interface Strike {
  atMs: number;
  /** Which process. */
  process: number;
  kind: StrikeKind;
  lastsMs: number;
}

export type Meddling =
  | { kind: 'cancel'; atMs: number }
  | { kind: 'terminate'; atMs: number }
  /** The same body once more: whoever starts it joins what is there. */
  | { kind: 'start-again'; atMs: number }
  /** Another body under the same number. */
  | { kind: 'start-otherwise'; atMs: number }
  | { kind: 'reset'; atMs: number; part: number; thenCancels: boolean };

export interface PlannedPayout {
  number: number;
  atMs: number;
  request: PayoutRequestInput;
  /** Whose row it is. */
  batch: string | undefined;
  /** After the payout waits for an approval. */
  approval: { afterMs: number; verdict: 'approve' | 'refuse' } | undefined;
  meddling: Meddling[];
}

export interface Plan {
  seed: number;
  workers: number;
  payouts: PlannedPayout[];
  batches: PlannedBatch[];
  openings: PlannedOpening[];
  /** For whom the application acts, where the provider wants tokens of users. */
  users: PlannedUsers | undefined;
  /** Nothing goes wrong, and nobody meddles. */
  isCalm: boolean;
  /** When the keys are replaced. */
  rotation: PlannedRotation | undefined;
  faults: FaultRuleInput[];
  settings: SettingsChange;
  env: Environment;
  process: ProcessFaults;
  strikes: Strike[];
  /** Of requests to Temporal. */
  losses: Losses;
  /** The provider does not answer an operation for long. */
  standstill: PlannedStandstill | undefined;
  /** Temporal's lists lag so much at most. */
  listsLagMs: number;
  /** Nobody reaches Temporal. */
  outage: { atMs: number; lastsMs: number } | undefined;
  /** Faults, losses and strikes end then, so that everything can end. */
  troubleMs: number;
  /** How much goes wrong on the way to the provider. */
  network: number;
  withoutOrder: 'retry' | 'end';
  /** Temporal goes back to its state at `toMs`. `forgets`: to a state without a payout that may have been sent. */
  restored: { toMs: number; atMs: number; forgets: boolean } | undefined;
  /** The world goes on until every order is followed up. */
  followsUp: boolean;
  /** When the provider takes all tokens back. */
  tokensEndAtMs: number | undefined;
}

/** How much goes wrong. Everything wrong at once hides what one fault does. */
const WEATHER = [0, 0.3, 1, 1, 2] as const;

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
  'slow final=5m',
  'returned final=4s',
  'complete-late',
  'complete-late after=1s for=3s',
  'detail-late',
  'refund after=0ms',
  'drift',
  'other-beneficiary',
  'other-beneficiary field=name',
  'lock-ignored',
  'no-out-order-id',
  'sums-wrong for=3s',
  'unknown-status for=3s',
  'v2-disagrees for=3s',
  'failed-received for=3s',
  'debit-differs for=3s',
] as const;
const AMOUNTS = ['100.00', '0.50', '712.34', '1234567890.12', '9999999999999999.99'] as const;

const OPERATIONS = [
  'token',
  'oauthToken',
  'accountQuery',
  'fee',
  'createCnyOrder',
  'queryDetail',
  'queryResult',
  'queryPayDetail',
  'receivingAccountBalance',
  'receivingAccountCreate',
] as const;
type Operation = (typeof OPERATIONS)[number];
const LIES: Readonly<Record<Operation, number>> = {
  ...{ token: 0.05, accountQuery: 0.06, fee: 0.08, createCnyOrder: 0.25 },
  ...{ queryDetail: 0.25, queryResult: 0.3, queryPayDetail: 0.3 },
  // Nobody could see through a lie: the specification shows no answer, or the answer alone says whose token it is.
  ...{ receivingAccountBalance: 0, receivingAccountCreate: 0, oauthToken: 0 },
};
const FAULTY = 0.2;
/** How much people meddle. */
const MEDDLESOME = [0.5, 1, 4] as const;
/** Most payouts are over within seconds. */
const MEDDLED_WITHIN_MS = [2_000, 10_000, 60_000] as const;
const RUSH = 30;
const WITH_BATCH = 0.12;
const MOST_BATCHES = 2;

const { bankAccountNumber, bankAccountName, idCardNumber } = payoutRequest(1).receiver;
/** Payments services have been known to repeat what they were sent. */
const TACTLESS = `cannot pay ${bankAccountNumber} of ${bankAccountName}, ${idCardNumber}`;

function everywhere(tooLongMs: number): FaultInput[] {
  return [
    { kind: 'drop-before' },
    { kind: 'drop-after' },
    { kind: 'cut-body' },
    { kind: 'html-502' },
    { kind: 'html-502', effect: 'commit' },
    { kind: 'garbage' },
    { kind: 'garbage', effect: 'none' },
    { kind: 'slow-body', ms: tooLongMs },
    { kind: 'latency', ms: tooLongMs, effect: 'before' },
    { kind: 'latency', ms: tooLongMs, effect: 'after' },
    { kind: 'envelope', code: 900000, message: TACTLESS },
    { kind: 'envelope', code: 900000, effect: 'commit' },
    { kind: 'envelope', code: 900002 },
    { kind: 'status', status: 429, body: TACTLESS },
    { kind: 'status', status: 429, retryAfter: 2 },
    { kind: 'status', status: 429, retryAfter: 60 },
    { kind: 'status', status: 503, effect: 'commit' },
  ];
}
const OF_CREATES: readonly FaultInput[] = [
  { kind: 'rate-limited-but-executes' },
  { kind: 'rate-limited-but-executes', showAfterMs: 3_000 },
  { kind: 'rate-limited-but-executes', showAfterMs: 8_000 },
  { kind: 'rate-limited-but-executes', showAfterMs: 8_000 },
  { kind: 'envelope', code: 12345, effect: 'commit' },
  { kind: 'envelope', code: 12345 },
  { kind: 'envelope', code: 900002, effect: 'commit' },
];
const OF_OPENINGS: readonly FaultInput[] = [
  { kind: 'status', status: 429, effect: 'commit' },
  { kind: 'status', status: 503, effect: 'commit' },
  { kind: 'envelope', code: 12345, effect: 'commit' },
  { kind: 'drop-after' },
];
const OF_TRADES: readonly FaultInput[] = [{ kind: 'data-null' }];

export function planOf(seed: number): Plan {
  const plan = calmed(new Random(seed ^ 0xca13), withoutUsers(seed));
  const users = plan.isCalm ? undefined : usersIn(new Random(seed ^ 0x05e5), plan.troubleMs);
  return users ? actingFor(users, plan) : plan;
}

/** Every payout and every account is of a user, and the provider wants to see it. */
function actingFor(planned: PlannedUsers, plan: Plan): Plan {
  const { users, gateway, trade } = planned;
  const openIdOf = (number: number) => users[number % users.length]?.openId;
  return {
    ...{ ...plan, users: planned },
    payouts: plan.payouts.map((payout) => {
      const openId = openIdOf(payout.number);
      return { ...payout, request: { ...payout.request, ...(openId !== undefined && { openId }) } };
    }),
    openings: plan.openings.map((opening, at) => ({ ...opening, openId: openIdOf(at) })),
    env: { ...plan.env, PAYMENTS_GATEWAY_TOKEN: gateway, PAYMENTS_TRADE_TOKEN: trade },
    settings: {
      ...{ ...plan.settings, gatewayToken: gateway, tradeToken: trade },
      userTokenSeconds: planned.tokenSeconds,
      refreshTokenSeconds: planned.refreshTokenSeconds,
      refreshRotation: planned.rotation,
      previousRefreshTokenValid: planned.previousIsValid,
    },
  };
}

function withoutUsers(seed: number): Plan {
  // Not the world's: what happens in it must not change who it is made of.
  const random = new Random(seed ^ 0x5eed);
  const weather = picked(random, WEATHER);
  const lies = picked(random, WEATHER);
  const network = picked(random, WEATHER);
  const callTimeoutMs = picked(random, [2_000, 5_000, 20_000]);
  // Small and short worlds find most; long waits and many payouts at once cost a hundred times as much.
  const isLong = random.chance(0.01);
  const isBig = random.chance(0.01);
  const troubleMs = isLong
    ? 600_000
    : picked(random, [10_000, 10_000, 20_000, 20_000, 30_000, 60_000, 120_000]);
  const repeatsAreRefused = random.chance(0.5);
  const workers = 1 + Math.floor(random.next() * 3);
  const count = isBig ? picked(random, [10, 20, 30]) : picked(random, [1, 1, 2, 2, 3, 3, 4, 5, 8]);
  const strikes = strikesOf(random, workers, troubleMs);
  const tokensEndAtMs = random.chance(0.2) ? random.between(0, troubleMs) : undefined;
  const meddlesome = picked(random, MEDDLESOME);
  const payouts = Array.from({ length: count }, (_, at) =>
    payoutOf(random, at + 1, { troubleMs, meddlesome }),
  );
  payouts.push(...rushOf(random, count, strikes));
  const restored = restoreIn(random, troubleMs, payouts);
  const people = { troubleMs, meddlesome };
  const standstill = standstillIn(new Random(seed ^ 0x57a11), troubleMs);
  const openings = openingsIn(new Random(seed ^ 0x0be2), troubleMs);
  const { batches, rows } = batchesIn(new Random(seed ^ 0xba7c4), payouts.length, people);
  return {
    ...{ seed, workers, troubleMs, network, strikes, tokensEndAtMs, batches },
    payouts: [...payouts, ...rows],
    ...{ users: undefined, isCalm: false, standstill },
    ...(standstill && { troubleMs: standstill.atMs + standstill.lastsMs }),
    rotation: rotationIn(new Random(seed ^ 0x4e75), troubleMs),
    openings,
    faults: OPERATIONS.flatMap((operation) => rules(operation, seed, { lies, weather, callTimeoutMs })),
    settings: {
      ...{ callsPerSecond: 20, secretPrefix: TOKENS },
      repeatedCreate: repeatsAreRefused ? 'refuse' : 'pay-again',
      // One that lives for a day is not renewed in time by its age alone.
      applicationTokenSeconds: tokensEndAtMs === undefined ? picked(random, [60, 600, 7_200]) : 86_400,
      finalAfterMs: picked(random, [300, 5_000]),
      // Less than the shortest confirmation window.
      readLagMs: picked(random, restored?.forgets ? [500, 8_000, 8_000] : [0, 0, 500, 4_000, 8_000]),
    },
    env: {
      PAYMENTS_CALL_TIMEOUT: `${callTimeoutMs}ms`,
      PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
      PAYMENTS_REPEATED_CREATE: repeatsAreRefused ? 'safe' : 'review',
      PAYOUTS_CREATE_CHECK: picked(random, ['doubtful', 'doubtful', 'always']),
      PAYOUTS_CONFIRMATION_WINDOW: isLong ? '10m' : picked(random, ['10s', '10s', '60s']),
      PAYOUTS_POLL_FIRST: picked(random, ['1s', '30s']),
      PAYOUTS_POLL_MAX: isLong ? '10m' : picked(random, ['3s', '30s']),
      PAYOUTS_RECONCILE_EVERY: isLong ? picked(random, ['1m', '15m']) : '1m',
      PAYOUTS_BATCH_WINDOW: picked(new Random(seed ^ 0xb47c), ['1', '2', '200']),
    },
    losses: { refused: 0.02 * weather, lost: 0.02 * weather },
    listsLagMs: picked(new Random(seed ^ 0x71b1), [500, 500, 500, 5_000, 20_000]),
    outage: outageIn(new Random(seed ^ 0x0a7a9e), troubleMs),
    process: { evicted: 0.1 * weather, lost: 0.02 * weather, failed: 0.02 * weather },
    withoutOrder: random.chance(0.5) ? 'retry' : 'end',
    restored,
    // Reconciliation looks every minute here; a quarter of an hour costs more than the rest of a world.
    followsUp: !isLong && random.chance(0.3),
  };
}

function restoreIn(random: Random, troubleMs: number, payouts: PlannedPayout[]): Plan['restored'] {
  if (!random.chance(0.2)) return undefined;
  const lost = random.chance(0.5) ? random.pick(payouts) : undefined;
  // To a moment right before or right after its start, and before its order can be seen.
  if (lost) {
    const toMs = lost.atMs + (random.chance(0.3) ? random.between(0, 100) : 0);
    return { toMs, atMs: lost.atMs + random.between(200, 4_000), forgets: true };
  }
  const toMs = random.between(0.1, 0.8) * troubleMs;
  return { toMs, atMs: toMs + random.between(0.05, 0.5) * troubleMs, forgets: false };
}

function outageIn(random: Random, troubleMs: number): Plan['outage'] {
  if (!random.chance(0.1)) return undefined;
  return {
    atMs: random.between(0, troubleMs),
    lastsMs: random.between(0.5, 1) * picked(random, [2_000, 20_000, 90_000]),
  };
}

interface People {
  troubleMs: number;
  meddlesome: number;
}

const ROWS = [1, 2, 2, 3, 3, 5, 5, 12] as const;

/** Rows are payouts like all others, but for who starts them. `before`: so many payouts are there already. */
function batchesIn(
  random: Random,
  before: number,
  people: People,
): { batches: PlannedBatch[]; rows: PlannedPayout[] } {
  const batches: PlannedBatch[] = [];
  const rows: PlannedPayout[] = [];
  while (random.chance(WITH_BATCH) && batches.length < MOST_BATCHES) {
    const batchId = `b-${batches.length + 1}`;
    const batch = batchIn(random, batchId, random.between(0, 0.5 * people.troubleMs));
    batches.push(batch);
    for (let left = picked(random, ROWS); left > 0; left -= 1) {
      const row = payoutOf(random, before + rows.length + 1, people);
      // People meddle with it at the same distance from its start.
      const meddling = row.meddling.map((one) => ({ ...one, atMs: one.atMs - row.atMs + batch.atMs }));
      rows.push({ ...row, batch: batchId, atMs: batch.atMs, meddling });
    }
  }
  return { batches, rows };
}

function payoutOf(random: Random, number: number, { troubleMs, meddlesome }: People): PlannedPayout {
  const needsApproval = random.chance(0.2);
  const meddling: Meddling[] = [];
  const atMs = random.between(0, 0.8 * troubleMs);
  const meddle = (kind: Meddling['kind'], chance: number) => {
    if (!random.chance(meddlesome * chance)) return;
    const common = { atMs: atMs + random.between(0, picked(random, MEDDLED_WITHIN_MS)) };
    meddling.push(
      kind === 'reset'
        ? { ...common, kind, part: random.next(), thenCancels: random.chance(0.3) }
        : { ...common, kind },
    );
  };
  meddle('cancel', 0.1);
  meddle('terminate', 0.05);
  meddle('reset', 0.1);
  meddle('start-again', 0.1);
  meddle('start-otherwise', 0.05);
  const more = {
    platform: `sim:${picked(random, SCENARIOS)}`,
    instructedAmount: { currency: 'CNY', amount: picked(random, AMOUNTS) },
    ...(needsApproval && { approval: 'required' as const }),
  };
  return {
    ...{ number, atMs, meddling, batch: undefined },
    request: payoutRequest(number, more),
    approval: needsApproval
      ? {
          afterMs: random.between(0, picked(random, [10_000, 10_000, 120_000])),
          verdict: random.chance(0.2) ? 'refuse' : 'approve',
        }
      : undefined,
  };
}

/** Many at once, shortly before a strike: the limit is met while the lease moves. */
function rushOf(random: Random, before: number, [strike]: readonly Strike[]): PlannedPayout[] {
  if (!random.chance(0.01)) return [];
  const beginsMs = Math.max(0, (strike?.atMs ?? 0) - random.between(0, 5_000));
  return Array.from({ length: RUSH }, (_, at) => ({
    number: before + at + 1,
    atMs: beginsMs + random.between(0, 1_000),
    request: payoutRequest(before + at + 1, { platform: 'sim:success' }),
    ...{ batch: undefined, approval: undefined, meddling: [] },
  }));
}

interface Badness {
  lies: number;
  weather: number;
  callTimeoutMs: number;
}

/** The first rule that hits decides. */
function rules(
  operation: Operation,
  seed: number,
  { lies, weather, callTimeoutMs }: Badness,
): FaultRuleInput[] {
  const kinds = [...everywhere(2 * callTimeoutMs), ...faultsOf(operation)];
  return [
    ...(lies * LIES[operation] > 0
      ? [{ operation, seed, probability: LIES[operation] * lies, fault: { kind: 'random-answer' as const } }]
      : []),
    ...(weather > 0 ? [{ operation, seed, probability: faulty(operation) * weather, kinds }] : []),
  ];
}

/** As likely as what befalls every call, taken together: only these pay twice where a create is made again. */
function thrice<T>(all: readonly T[]): T[] {
  return [...all, ...all, ...all];
}

/** A world makes few creates and opens few accounts, and everything depends on them. */
function faulty(operation: Operation): number {
  return operation === 'receivingAccountCreate' || operation === 'createCnyOrder' ? 2 * FAULTY : FAULTY;
}

function faultsOf(operation: Operation): readonly FaultInput[] {
  if (operation === 'createCnyOrder') return thrice(OF_CREATES);
  if (operation === 'receivingAccountCreate') return thrice(OF_OPENINGS);
  return operation === 'queryResult' || operation === 'queryPayDetail' ? OF_TRADES : [];
}

function strikesOf(random: Random, workers: number, troubleMs: number): Strike[] {
  const count = Math.floor(random.next() * 5) * workers;
  return Array.from({ length: count }, () => ({
    atMs: random.between(0, troubleMs),
    process: Math.floor(random.next() * workers),
    kind: picked(random, STRIKES),
    lastsMs: picked(random, [500, 5_000, 5_000, 30_000, 30_000, 120_000]) * random.between(0.5, 1),
  }));
}

/** Small delays only: what arrives later than the limiter's margin knows of may exceed the limit, and is documented. */
export function tripOf({ network }: Plan, random: Random): Trip {
  const fate = random.next() / Math.max(network, 0.001);
  return {
    connectMs: random.between(0, 3),
    requestMs: random.between(1, 15),
    answerMs: random.between(1, 100),
    fate: fate < 0.01 ? 'refused' : fate < 0.03 ? 'request-lost' : fate < 0.05 ? 'answer-lost' : 'arrives',
  };
}

function picked<T>(random: Random, from: readonly T[]): T {
  const one = random.pick(from);
  if (one === undefined) throw new Error('nothing to pick from');
  return one;
}
