/** Draws the plan of a seed. */
import { type FaultInput, type FaultRuleInput, transportFaults } from '../../simulator/index.ts';
import { Random } from '../engine/random.ts';
import type { Trip } from '../provider/transport.ts';
import { planBatch } from './batches.ts';
import { maybeWithDeletion } from './deletions.ts';
import { maybeWithDialect, REFUSED_QUOTE } from './dialects.ts';
import { planEvents } from './events.ts';
import { maybeFaultFree } from './fault-free.ts';
import { planRotation } from './key-rotation.ts';
import { planOpenings } from './openings.ts';
import { planOperationOutage } from './operation-outage.ts';
import { planPause } from './pauses.ts';
import { payoutRequest, SECOND_APP_FROM } from './payout-world.ts';
import {
  type Intervention,
  type Plan,
  type PlannedBatch,
  type PlannedPayout,
  type PlannedPrices,
  type PlannedUsers,
  PROCESS_FAULT_KINDS,
  type ProcessFault,
} from './planned.ts';
import { planPolicy } from './policies.ts';
import { planPrices } from './prices.ts';
import { TOKENS } from './secrets.ts';
import { planStrangers } from './strangers.ts';
import { planUpgrade } from './upgrade.ts';
import { planUsers } from './users.ts';

/** Multipliers of the fault probabilities. They vary, because many faults at once hide the effect of a single one. */
const FAULT_RATES = [0, 0.3, 1, 1, 2] as const;

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
const WRONG_ANSWER_PROBABILITIES: Readonly<Record<Operation, number>> = {
  ...{ token: 0.05, accountQuery: 0.06, fee: 0.08, createCnyOrder: 0.25 },
  ...{ queryDetail: 0.25, queryResult: 0.3, queryPayDetail: 0.3 },
  // These wrong answers cannot be detected: the specification shows no answer, or only the answer says whose
  // token it is.
  ...{ receivingAccountBalance: 0, receivingAccountCreate: 0, oauthToken: 0 },
};
const FAULT_PROBABILITY = 0.2;
/** Multipliers of the intervention probabilities. */
const INTERVENTION_RATES = [0.5, 1, 4] as const;
/** Most payouts end within seconds. */
const INTERVENTION_WINDOWS_MS = [2_000, 10_000, 60_000] as const;
const BURST_SIZE = 30;
const BATCH_PROBABILITY = 0.12;
const MAX_BATCHES = 2;

const { bankAccountNumber, bankAccountName, idCardNumber } = payoutRequest(1).receiver;
/** Providers are known to echo request data in error messages. */
const ECHOED_PERSONAL_DATA = `cannot pay ${bankAccountNumber} of ${bankAccountName}, ${idCardNumber}`;

function faultsOfAnyOperation(tooLongMs: number): FaultInput[] {
  return [
    ...transportFaults(tooLongMs),
    { kind: 'envelope', code: 900000, message: ECHOED_PERSONAL_DATA },
    { kind: 'envelope', code: 900000, effect: 'commit' },
    { kind: 'envelope', code: 900002 },
    { kind: 'status', status: 429, body: ECHOED_PERSONAL_DATA },
    { kind: 'status', status: 429, retryAfter: 2 },
    { kind: 'status', status: 429, retryAfter: 60 },
    { kind: 'status', status: 503, effect: 'commit' },
  ];
}
/** The codes of `PAYMENTS_CREATE_CODES` that say that nothing was created. */
const CREATE_REFUSALS: readonly FaultInput[] = [
  { kind: 'envelope', code: 30001 },
  { kind: 'envelope', code: 30002 },
  { kind: 'envelope', code: 30005 },
];
const LYING_CODES: readonly FaultInput[] = [30001, 30002, 30005].map((code) => ({
  kind: 'envelope',
  code,
  effect: 'commit',
}));
const CREATE_FAULTS: readonly FaultInput[] = [
  { kind: 'rate-limited-but-executes' },
  { kind: 'rate-limited-but-executes', showAfterMs: 3_000 },
  { kind: 'rate-limited-but-executes', showAfterMs: 8_000 },
  { kind: 'rate-limited-but-executes', showAfterMs: 8_000 },
  { kind: 'envelope', code: 12345, effect: 'commit' },
  { kind: 'envelope', code: 12345 },
  { kind: 'envelope', code: 900002, effect: 'commit' },
];
const OPENING_FAULTS: readonly FaultInput[] = [
  { kind: 'status', status: 429, effect: 'commit' },
  { kind: 'status', status: 503, effect: 'commit' },
  { kind: 'envelope', code: 12345, effect: 'commit' },
  { kind: 'envelope', code: 12345, status: 201, effect: 'commit' },
  { kind: 'drop-after' },
];
const TRADE_FAULTS: readonly FaultInput[] = [{ kind: 'data-null' }];

const OLD_ANSWERS_PROBABILITY = 0.05;
const SECOND_APP_PROBABILITY = 0.15;
const SLOW_CONNECTS_PROBABILITY = 0.2;
const LONG_CALL_MS = 20_000;
const REFUSED_REPEATS_PROBABILITY = 0.04;
const LYING_CODES_PROBABILITY = 0.05;
const ODD_TEXT_PROBABILITY = 0.1;
const REFUSED_QUOTES_PROBABILITY = 0.04;
const GATEWAY_PROBABILITY = 0.3;

export function planOf(seed: number): Plan {
  return maybeWithDialect(new Random(seed ^ 0xd1a1), planWithoutDialect(seed));
}

function planWithoutDialect(seed: number): Plan {
  const base = basePlan(seed);
  const old = maybeWithOldAnswers(new Random(seed ^ 0x51c6), base);
  // The first rule for creates would hide the second one.
  const repeats = old === base ? maybeWithRefusedRepeats(new Random(seed ^ 0x4ef5), base) : old;
  const faulty = repeats === base ? maybeWithLyingCodes(new Random(seed ^ 0x11e5), base) : repeats;
  const refused = maybeWithRefusedQuotes(new Random(seed ^ 0x40f1), faulty);
  const odd = maybeWithOddText(new Random(seed ^ 0x0dd7), maybeFaultFree(new Random(seed ^ 0xca13), refused));
  const plan = maybeWithGateway(new Random(seed ^ 0x6a7e), odd);
  if (plan.isFaultFree) return plan;
  const users = planUsers(new Random(seed ^ 0x05e5), plan.faultPhaseMs);
  const slow = maybeWithSlowConnects(new Random(seed ^ 0x51c0), plan);
  const owned = users ? withUsers(users, slow) : maybeWithSecondApp(new Random(seed ^ 0x2a99), slow);
  const strangers = planStrangers(new Random(seed ^ 0x57a9), plan.faultPhaseMs, owned.payouts);
  return maybeWithDeletion(new Random(seed ^ 0xde1e7e), { ...owned, strangers });
}

/**
 * With some probability, makes answers old before workflows see them: each lost completion of a workflow task delays a
 * workflow by ten seconds. Creates that the provider serves with a 429 then show where such an answer is trusted.
 */
function maybeWithOldAnswers(random: Random, plan: Plan): Plan {
  if (!random.chance(OLD_ANSWERS_PROBABILITY)) return plan;
  const fault = { kind: 'rate-limited-but-executes', showAfterMs: 8_000 } as const;
  return {
    ...plan,
    // Lost completions delay the creates.
    faultPhaseMs: Math.max(180_000, plan.faultPhaseMs),
    faults: [{ operation: 'createCnyOrder', seed: plan.seed, probability: 0.5, fault }, ...plan.faults],
    settings: { ...plan.settings, repeatedCreate: 'pay-again' },
    env: {
      ...plan.env,
      ...{
        PAYMENTS_REPEATED_CREATE: 'review',
        PAYMENTS_CALL_TIMEOUT: '2s',
        PAYOUTS_CONFIRMATION_WINDOW: '10s',
      },
    },
    workflowTaskFaults: { ...plan.workflowTaskFaults, lost: 0.5 },
  };
}

/**
 * With some probability, makes the provider answer many creates 429, and refuse many others. A refusal says nothing about the
 * create before it.
 */
function maybeWithRefusedRepeats(random: Random, plan: Plan): Plan {
  if (!random.chance(REFUSED_REPEATS_PROBABILITY)) return plan;
  const limited: FaultInput = { kind: 'status', status: 429 };
  const kinds = [limited, limited, limited, ...CREATE_REFUSALS];
  return {
    ...plan,
    // The next create comes only after the confirmation window.
    faultPhaseMs: Math.max(180_000, plan.faultPhaseMs),
    faults: [{ operation: 'createCnyOrder', seed: plan.seed, probability: 0.7, kinds }, ...plan.faults],
  };
}

/**
 * With some probability, lets listed codes lie: the create took effect. Only the trade query after it shows the order (H230),
 * so its answers are true.
 */
function maybeWithLyingCodes(random: Random, plan: Plan): Plan {
  if (!random.chance(LYING_CODES_PROBABILITY)) return plan;
  const isTrue = ({ operation, fault }: FaultRuleInput) =>
    operation !== 'queryResult' || fault?.kind !== 'random-answer';
  return {
    ...plan,
    faults: [
      { operation: 'createCnyOrder', seed: plan.seed, probability: 0.5, kinds: [...LYING_CODES] },
      ...plan.faults.filter(isTrue),
    ],
  };
}

/**
 * With some probability, gives every true answer descriptions that must not be shown as they are. They hide nothing, so this
 * also happens in fault-free worlds. As the last rule, it leaves the other faults alone.
 */
function maybeWithOddText(random: Random, plan: Plan): Plan {
  if (!random.chance(ODD_TEXT_PROBABILITY)) return plan;
  const rule: FaultRuleInput = { seed: plan.seed, fault: { kind: 'odd-text' } };
  return { ...plan, faults: [...plan.faults, rule] };
}

/** With some probability, makes the provider refuse most account checks or quotes, with a code that it does not explain. */
function maybeWithRefusedQuotes(random: Random, plan: Plan): Plan {
  if (!random.chance(REFUSED_QUOTES_PROBABILITY)) return plan;
  const operation = pick(random, ['fee', 'accountQuery'] as const);
  const fault: FaultInput = { kind: 'envelope', code: REFUSED_QUOTE };
  return { ...plan, faults: [{ operation, seed: plan.seed, probability: 0.9, fault }, ...plan.faults] };
}

/**
 * With some probability, puts a gateway before the provider that encodes answers, resets connections that were used before, and
 * writes waits as dates. No payout may notice, so this also happens in fault-free worlds.
 */
function maybeWithGateway(random: Random, plan: Plan): Plan {
  if (!random.chance(GATEWAY_PROBABILITY)) return plan;
  const gateway = {
    contentEncoding: pick(random, ['none', 'gzip', 'deflate', 'br'] as const),
    usedConnections: pick(random, ['serve', 'reset'] as const),
    retryAfterForm: pick(random, ['seconds', 'date'] as const),
    failedRefundFlag: random.chance(0.5),
  };
  // A reset is a fault for a read, which an activity repeats.
  if (plan.isFaultFree) gateway.usedConnections = 'serve';
  return { ...plan, settings: { ...plan.settings, ...gateway } };
}

/** Whether some payouts belong to the second application. */
export function hasSecondApp({ payouts }: Plan): boolean {
  return payouts.some(({ number }) => number >= SECOND_APP_FROM);
}

/** With some probability, adds payouts of a second application, with its own token, lease and rate limit. */
function maybeWithSecondApp(random: Random, plan: Plan): Plan {
  if (!random.chance(SECOND_APP_PROBABILITY)) return plan;
  const people = { faultPhaseMs: plan.faultPhaseMs, interventionRate: 1 };
  const added = Array.from({ length: pick(random, [1, 1, 2, 4]) }, (_, at) =>
    planPayout(random, SECOND_APP_FROM + at, people),
  );
  return { ...plan, payouts: [...plan.payouts, ...added] };
}

/**
 * With some probability, cuts processes off from Temporal while a call that has its turn still connects. The lease moves
 * meanwhile, so the call must not be written. A connection may take half of a call's time, so only long calls do this.
 */
function maybeWithSlowConnects(random: Random, plan: Plan): Plan {
  if (plan.env['PAYMENTS_CALL_TIMEOUT'] !== `${LONG_CALL_MS}ms` || !random.chance(SLOW_CONNECTS_PROBABILITY))
    return plan;
  return { ...plan, workers: Math.max(2, plan.workers), slowConnects: 0.05 };
}

/** Assigns every payout and every account to a user, and makes the provider require user tokens. */
function withUsers(planned: PlannedUsers, plan: Plan): Plan {
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

function basePlan(seed: number): Plan {
  // Separate from the random numbers of the world, so that events in the world do not change the plan.
  const random = new Random(seed ^ 0x5eed);
  const faultRate = pick(random, FAULT_RATES);
  const wrongAnswerRate = pick(random, FAULT_RATES);
  const network = pick(random, FAULT_RATES);
  const callTimeoutMs = pick(random, [2_000, 5_000, LONG_CALL_MS]);
  // Small and short worlds find most faults. Long waits and many payouts cost a hundred times as much.
  const isLong = random.chance(0.01);
  const isBig = random.chance(0.01);
  const faultPhaseMs = isLong
    ? 600_000
    : pick(random, [10_000, 10_000, 20_000, 20_000, 30_000, 60_000, 120_000]);
  const refusesRepeats = random.chance(0.5);
  const workers = 1 + Math.floor(random.next() * 3);
  const count = isBig ? pick(random, [10, 20, 30]) : pick(random, [1, 1, 2, 2, 3, 3, 4, 5, 8]);
  const processFaults = planProcessFaults(random, workers, faultPhaseMs);
  const tokensExpireAtMs = random.chance(0.2) ? random.between(0, faultPhaseMs) : undefined;
  const interventionRate = pick(random, INTERVENTION_RATES);
  const payouts = Array.from({ length: count }, (_, at) =>
    planPayout(random, at + 1, { faultPhaseMs, interventionRate }),
  );
  payouts.push(...planBurst(random, count, processFaults));
  const restored = planRestore(random, faultPhaseMs, payouts);
  const people = { faultPhaseMs, interventionRate };
  const operationOutage = planOperationOutage(new Random(seed ^ 0x57a11), faultPhaseMs);
  const openings = planOpenings(new Random(seed ^ 0x0be2), faultPhaseMs);
  const { batches, rows } = planBatches(new Random(seed ^ 0xba7c4), payouts.length, people);
  const prices = planPrices(new Random(seed ^ 0xfee5), faultPhaseMs);
  return {
    ...{ seed, workers, faultPhaseMs, network, processFaults, tokensExpireAtMs, batches, prices },
    payouts: [...payouts, ...rows].map((payout) => withLimits(payout, prices)),
    ...{ users: undefined, isFaultFree: false, operationOutage, strangers: [], slowConnects: 0 },
    deletion: undefined,
    ...(operationOutage && { faultPhaseMs: operationOutage.atMs + operationOutage.lastsMs }),
    pause: planPause(new Random(seed ^ 0x9a05), faultPhaseMs),
    policy: planPolicy(new Random(seed ^ 0xa11c), faultPhaseMs),
    failover: planFailover(new Random(seed ^ 0xfa11)),
    dialect: undefined,
    rotation: planRotation(new Random(seed ^ 0x4e75), faultPhaseMs),
    upgrade: planUpgrade(new Random(seed ^ 0x0b9d), faultPhaseMs),
    events: planEvents(new Random(seed ^ 0xe7e25), faultPhaseMs),
    openings,
    faults: OPERATIONS.flatMap((operation) =>
      faultRules(operation, seed, { wrongAnswerRate, faultRate, callTimeoutMs }),
    ),
    settings: {
      ...{ callsPerSecond: 20, secretPrefix: TOKENS },
      repeatedCreate: refusesRepeats ? 'refuse' : 'pay-again',
      // With a lifetime of a day, a token's age alone does not trigger a renewal in time.
      applicationTokenSeconds: tokensExpireAtMs === undefined ? pick(random, [60, 600, 7_200]) : 86_400,
      finalAfterMs: pick(random, [300, 5_000]),
      // Less than the shortest confirmation window.
      readLagMs: pick(random, restored?.forgets ? [500, 8_000, 8_000] : [0, 0, 500, 4_000, 8_000]),
    },
    env: {
      PAYMENTS_CALL_TIMEOUT: `${callTimeoutMs}ms`,
      PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
      PAYMENTS_READ_LAG: '8s',
      PAYMENTS_REPEATED_CREATE: refusesRepeats ? 'safe' : 'review',
      PAYOUTS_CREATE_CHECK: pick(random, ['doubtful', 'doubtful', 'always']),
      PAYOUTS_CONFIRMATION_WINDOW: isLong ? '10m' : pick(random, ['10s', '10s', '60s']),
      PAYOUTS_POLL_FIRST: pick(random, ['1s', '30s']),
      PAYOUTS_POLL_MAX: isLong ? '10m' : pick(random, ['3s', '30s']),
      PAYOUTS_RECONCILE_EVERY: isLong ? pick(random, ['1m', '15m']) : '1m',
      PAYOUTS_BATCH_WINDOW: pick(new Random(seed ^ 0xb47c), ['1', '2', '200']),
    },
    losses: { refused: 0.02 * faultRate, lost: 0.02 * faultRate },
    visibilityLagMs: pick(new Random(seed ^ 0x71b1), [500, 500, 500, 5_000, 20_000]),
    temporalOutage: planTemporalOutage(new Random(seed ^ 0x0a7a9e), faultPhaseMs),
    workflowTaskFaults: {
      evicted: 0.1 * faultRate,
      lost: 0.02 * faultRate,
      failed: 0.02 * faultRate,
    },
    resolutionWithoutOrder: random.chance(0.5) ? 'retry' : 'end',
    restored,
    // Reconciliation runs every minute here. Waiting for a quarter of an hour costs more than the rest of the
    // world.
    awaitsFollowUps: !isLong && random.chance(0.3),
  };
}

function withLimits(payout: PlannedPayout, prices: PlannedPrices | undefined): PlannedPayout {
  const { request, approval } = payout;
  return approval && prices?.limits ? { ...payout, request: { ...request, limits: prices.limits } } : payout;
}

function planRestore(random: Random, faultPhaseMs: number, payouts: PlannedPayout[]): Plan['restored'] {
  if (!random.chance(0.2)) return undefined;
  const lost = random.chance(0.5) ? random.pick(payouts) : undefined;
  // A moment immediately before or after the start, and before queries show the order.
  if (lost) {
    const toMs = lost.atMs + (random.chance(0.3) ? random.between(0, 100) : 0);
    return { toMs, atMs: lost.atMs + random.between(200, 4_000), forgets: true };
  }
  const toMs = random.between(0.1, 0.8) * faultPhaseMs;
  return { toMs, atMs: toMs + random.between(0.05, 0.5) * faultPhaseMs, forgets: false };
}

function planFailover(random: Random): Plan['failover'] {
  return random.chance(0.4) ? { noticedAfterMs: random.between(0, 120_000) } : undefined;
}

function planTemporalOutage(random: Random, faultPhaseMs: number): Plan['temporalOutage'] {
  if (!random.chance(0.1)) return undefined;
  return {
    atMs: random.between(0, faultPhaseMs),
    lastsMs: random.between(0.5, 1) * pick(random, [2_000, 20_000, 90_000]),
  };
}

interface PlanningContext {
  faultPhaseMs: number;
  interventionRate: number;
}

const ROWS = [1, 2, 2, 3, 3, 5, 5, 12] as const;

/** A row is a payout that the batch starts. `before`: how many payouts the plan already has. */
function planBatches(
  random: Random,
  before: number,
  people: PlanningContext,
): { batches: PlannedBatch[]; rows: PlannedPayout[] } {
  const batches: PlannedBatch[] = [];
  const rows: PlannedPayout[] = [];
  while (random.chance(BATCH_PROBABILITY) && batches.length < MAX_BATCHES) {
    const batchId = `b-${batches.length + 1}`;
    const batch = planBatch(random, batchId, random.between(0, 0.5 * people.faultPhaseMs));
    batches.push(batch);
    for (let left = pick(random, ROWS); left > 0; left -= 1) {
      const row = planPayout(random, before + rows.length + 1, people);
      // Keeps the delays between the start and the interventions.
      const interventions = row.interventions.map((one) => ({
        ...one,
        atMs: one.atMs - row.atMs + batch.atMs,
      }));
      rows.push({ ...row, batch: batchId, atMs: batch.atMs, interventions });
    }
  }
  return { batches, rows };
}

function planPayout(
  random: Random,
  number: number,
  { faultPhaseMs, interventionRate }: PlanningContext,
): PlannedPayout {
  const needsApproval = random.chance(0.2);
  const interventions: Intervention[] = [];
  const atMs = random.between(0, 0.8 * faultPhaseMs);
  const maybeIntervene = (kind: Intervention['kind'], chance: number) => {
    if (!random.chance(interventionRate * chance)) return;
    const common = { atMs: atMs + random.between(0, pick(random, INTERVENTION_WINDOWS_MS)) };
    interventions.push(
      kind === 'reset'
        ? { ...common, kind, part: random.next(), thenCancels: random.chance(0.3) }
        : { ...common, kind },
    );
  };
  maybeIntervene('cancel', 0.1);
  maybeIntervene('terminate', 0.05);
  maybeIntervene('reset', 0.1);
  maybeIntervene('start-again', 0.1);
  maybeIntervene('start-different-body', 0.05);
  const more = {
    platform: `sim:${pick(random, SCENARIOS)}`,
    instructedAmount: { currency: 'CNY', amount: pick(random, AMOUNTS) },
    ...(needsApproval && { approval: 'required' as const }),
  };
  return {
    ...{ number, atMs, interventions, batch: undefined },
    request: payoutRequest(number, more),
    approval: needsApproval
      ? {
          afterMs: random.between(0, pick(random, [10_000, 10_000, 120_000])),
          verdict: random.chance(0.2) ? 'refuse' : 'approve',
        }
      : undefined,
  };
}

/** Many payouts at once, shortly before a process fault, so that calls reach the rate limit while the lease moves. */
function planBurst(random: Random, before: number, [processFault]: readonly ProcessFault[]): PlannedPayout[] {
  if (!random.chance(0.01)) return [];
  const beginsMs = Math.max(0, (processFault?.atMs ?? 0) - random.between(0, 5_000));
  return Array.from({ length: BURST_SIZE }, (_, at) => ({
    number: before + at + 1,
    atMs: beginsMs + random.between(0, 1_000),
    request: payoutRequest(before + at + 1, { platform: 'sim:success' }),
    ...{ batch: undefined, approval: undefined, interventions: [] },
  }));
}

interface FaultRates {
  wrongAnswerRate: number;
  faultRate: number;
  callTimeoutMs: number;
}

/** The first matching rule applies. */
function faultRules(
  operation: Operation,
  seed: number,
  { wrongAnswerRate, faultRate, callTimeoutMs }: FaultRates,
): FaultRuleInput[] {
  const kinds = [...faultsOfAnyOperation(2 * callTimeoutMs), ...faultsOfOperation(operation)];
  return [
    ...(wrongAnswerRate * WRONG_ANSWER_PROBABILITIES[operation] > 0
      ? [
          {
            operation,
            seed,
            probability: WRONG_ANSWER_PROBABILITIES[operation] * wrongAnswerRate,
            fault: { kind: 'random-answer' as const },
          },
        ]
      : []),
    ...(faultRate > 0
      ? [{ operation, seed, probability: faultProbability(operation) * faultRate, kinds }]
      : []),
  ];
}

/**
 * Makes these faults as likely as the general ones together: only these cause a second payment if a create is
 * repeated.
 */
function threeTimes<T>(all: readonly T[]): T[] {
  return [...all, ...all, ...all];
}

/**
 * A world has few creates and fewer openings, so their faults are more likely. At the highest rate, one opening in ten has
 * no fault.
 */
function faultProbability(operation: Operation): number {
  if (operation === 'receivingAccountCreate') return 2.25 * FAULT_PROBABILITY;
  return operation === 'createCnyOrder' ? 2 * FAULT_PROBABILITY : FAULT_PROBABILITY;
}

function faultsOfOperation(operation: Operation): readonly FaultInput[] {
  if (operation === 'createCnyOrder') return [...threeTimes(CREATE_FAULTS), ...CREATE_REFUSALS];
  if (operation === 'receivingAccountCreate') return threeTimes(OPENING_FAULTS);
  return operation === 'queryResult' || operation === 'queryPayDetail' ? TRADE_FAULTS : [];
}

function planProcessFaults(random: Random, workers: number, faultPhaseMs: number): ProcessFault[] {
  const count = Math.floor(random.next() * 5) * workers;
  return Array.from({ length: count }, () => ({
    atMs: random.between(0, faultPhaseMs),
    process: Math.floor(random.next() * workers),
    kind: pick(random, PROCESS_FAULT_KINDS),
    lastsMs: pick(random, [500, 5_000, 5_000, 30_000, 30_000, 120_000]) * random.between(0.5, 1),
  }));
}

/**
 * Delays are small: later arrivals exceed the limiter's margin and may exceed the rate limit, which is documented.
 */
export function tripOf({ network }: Plan, random: Random): Trip {
  // Without faults of the network, every exchange arrives.
  const fate = random.next() / network;
  return {
    connectMs: random.between(0, 3),
    requestMs: random.between(1, 15),
    answerMs: random.between(1, 100),
    fate: fate < 0.01 ? 'refused' : fate < 0.03 ? 'request-lost' : fate < 0.05 ? 'answer-lost' : 'arrives',
  };
}

function pick<T>(random: Random, from: readonly T[]): T {
  const one = random.pick(from);
  if (one === undefined) throw new Error('no element to pick');
  return one;
}
