/**
 * What the spec leaves open about the provider, drawn from the seed, and settings of the product that fit or do not. With
 * settings that fit, every payout ends as the ledger says. With others, a payout may also wait with a flag; none is paid twice
 * or ends with an untruth (H231 to H236).
 */
import type { FaultInput, FaultRuleInput, SettingsChange } from '../../simulator/index.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import type { Echo } from '../../src/domain/provider-text.ts';
import type { Random } from '../engine/random.ts';
import type { Plan, PlannedDialect, PlannedPayout } from './planned.ts';

type Part = { settings?: SettingsChange; env?: Environment };

const PROBABILITY = 0.3;
const LYING = '12345';
const REPEATED = '30003';
/** The code of refused quotes and account checks in `plan.ts`. */
export const REFUSED_QUOTE = 40001;
type Echoes = readonly (readonly [provider: 'exact' | 'masked' | 'normalized', product: Echo])[];
const ECHOES: Echoes = [
  ['exact', 'exact'],
  ['exact', 'normalized'],
  ['masked', 'visible'],
  ['masked', 'normalized'],
  ['normalized', 'normalized'],
];
/** With ids in another form than it accepts, the product does not get to a create, so most worlds have masks. */
const OTHER_ECHOES: Echoes = [
  ['masked', 'exact'],
  ['masked', 'exact'],
  ['exact', 'visible'],
  ['exact', 'visible'],
  ['normalized', 'visible'],
];
/** A double has no more. */
const EXACT_DIGITS = 15;
/** As a double, `1.0E7`. */
const LARGE_AMOUNT = '10000000.00';
/** False answers are compared with what the spec shows, so the simulator cannot tell whether these are detectable. */
const OF_ORDERS: readonly unknown[] = ['createCnyOrder', 'queryDetail', 'queryResult', 'queryPayDetail'];

/** With some probability. A plan without faults has settings that fit. */
export function maybeWithDialect(random: Random, plan: Plan): Plan {
  if (!random.chance(PROBABILITY)) return plan;
  const fits = plan.isFaultFree || random.chance(0.5);
  const dialect = { fits, strangersOfClients: fits ? [] : planStrangersOfClients(random, plan) };
  // The product gets to a create only if it accepts the echoes.
  const isStrange = dialect.strangersOfClients.length > 0;
  const parts = [
    planEcho(random, fits || isStrange),
    planTradeOrderId(random, fits),
    planPairs(random, plan, dialect),
  ];
  const isExponent = random.chance(0.4);
  const isRefused = random.chance(0.3) && !plan.isFaultFree;
  const lies = !fits && random.chance(0.3);
  const faults = plan.faults.filter(isDetectable);
  return {
    ...plan,
    dialect,
    payouts: (isExponent ? plan.payouts.map(withExactAmount) : plan.payouts).map(withMinRate),
    faults: [
      ...(isStrange ? [servedThoughBusy(plan.seed)] : []),
      ...(isRefused ? [usedNumbers(plan.seed)] : []),
      ...faults,
    ],
    settings: {
      ...plan.settings,
      numberStyle: isExponent ? 'exponent' : draw(random, ['plain', 'text']),
      earlierAccessTokens: draw(random, ['valid', 'revoked']),
      timestampUnit: draw(random, ['ms', 's']),
      v1Envelope: draw(random, ['A', 'bare']),
      shownRate: draw(random, ['true', 'inverse', 'zero']),
      shownBalance: draw(random, ['true', 'unreadable', 'absent']),
      ...(isStrange && { repeatedCreate: 'pay-again' as const }),
      detailShape: draw(random, ['list', 'object']),
      emptyDetail: draw(random, ['list', 'null', 'absent']),
      rateLimitStyle: draw(random, ['http', 'envelope']),
      unauthorizedStyle: draw(random, ['http', 'envelope']),
      ...Object.assign({}, ...parts.map(({ settings }) => settings)),
    },
    env: {
      ...plan.env,
      PAYMENTS_CREATE_CODES: createCodes(random, plan, { fits, lies }),
      ...(random.chance(0.5) && { PAYMENTS_QUOTE_CODES: `900002:refused,${REFUSED_QUOTE}:refused` }),
      ...(isStrange && { PAYMENTS_REPEATED_CREATE: 'review' }),
      ...Object.assign({}, ...parts.map(({ env }) => env)),
    },
  };
}

function createCodes(
  random: Random,
  { env }: Plan,
  { fits, lies }: { fits: boolean; lies: boolean },
): string {
  const known = fits || random.chance(0.5) ? [`${REPEATED}:duplicate`] : [];
  const lying = lies ? [`${LYING}:${draw(random, ['refused', 'lock-expired'])}`] : [];
  return [String(env['PAYMENTS_CREATE_CODES']), ...known, ...lying].join(',');
}

function isDetectable({ operation, fault }: FaultRuleInput): boolean {
  return fault?.kind !== 'random-answer' || !OF_ORDERS.includes(operation);
}

/** Whether the trade queries have numbers of their own, which the product does not expect. */
export function needsBoundTrades({ settings, env }: Plan): boolean {
  return settings.tradeOrderId === 'own' && env['PAYMENTS_TRADE_ORDER_ID'] !== 'own';
}

/** What the provider tells a person about an order whose number in the trade queries the review shows. */
export function tradeOf(
  { settings }: Plan,
  orderId: string,
  { reviewedOrderIds = [] }: PayoutState,
): { tradeOrderId?: string } {
  const tradeOrderId = `T-${orderId}`;
  return settings.tradeOrderId === 'own' && reviewedOrderIds.includes(tradeOrderId) ? { tradeOrderId } : {};
}

function planEcho(random: Random, fits: boolean): Part {
  const [echo, setting] = draw(random, fits ? ECHOES : OTHER_ECHOES);
  return { settings: { echo }, env: { PAYMENTS_ECHO: setting } };
}

function planTradeOrderId(random: Random, fits: boolean): Part {
  const tradeOrderId = draw(random, ['same', 'own'] as const);
  const other = tradeOrderId === 'same' ? 'own' : 'same';
  const setting = fits || random.chance(0.5) ? tradeOrderId : other;
  return { settings: { tradeOrderId }, env: { PAYMENTS_TRADE_ORDER_ID: setting } };
}

/** `trusted` is a promise that no caller sends a wrong pair. */
function planPairs(
  random: Random,
  { payouts }: Plan,
  { strangersOfClients: strangers }: PlannedDialect,
): Part {
  const isChecked = random.chance(0.5);
  const isTrusted = strangers.length === 0 && random.chance(0.5);
  const pairs = payouts.map(({ request: { payerId, clientId } }): [string, string] =>
    strangers.includes(payerId) ? [payerId, 'another-client'] : [payerId, clientId],
  );
  return {
    ...((isChecked || strangers.length > 0) && { settings: { clientOfPayer: Object.fromEntries(pairs) } }),
    env: { PAYMENTS_CLIENT_PAIRS: isTrusted ? 'trusted' : 'learned' },
  };
}

function planStrangersOfClients(random: Random, { payouts }: Plan): string[] {
  if (!random.chance(0.6)) return [];
  return payouts.filter(() => random.chance(0.5)).map(({ request }) => request.payerId);
}

/** Then only the trade query says whether an order exists, and it never does (H235). */
function servedThoughBusy(seed: number): FaultRuleInput {
  return {
    operation: 'createCnyOrder',
    seed,
    probability: 0.5,
    fault: { kind: 'rate-limited-but-executes' },
  };
}

/** Of this payout, or of another system's order (H236). */
function usedNumbers(seed: number): FaultRuleInput {
  const code = Number(REPEATED);
  const kinds: FaultInput[] = [
    { kind: 'envelope', code },
    { kind: 'envelope', code, effect: 'commit' },
  ];
  return { operation: 'createCnyOrder', seed, probability: 0.3, kinds };
}

/** The provider cannot write more digits as a double. */
function withExactAmount(payout: PlannedPayout): PlannedPayout {
  const { currency, amount } = payout.request.instructedAmount;
  if (amount.replace('.', '').length <= EXACT_DIGITS) return payout;
  return { ...payout, request: { ...payout.request, instructedAmount: { currency, amount: LARGE_AMOUNT } } };
}

/** Below every true rate, and above the inverse of USD/CNY: the rate that the provider shows must not end a payout (H221). */
function withMinRate(payout: PlannedPayout): PlannedPayout {
  const limits = { minRate: '0.3', ...payout.request.limits };
  return { ...payout, request: { ...payout.request, limits } };
}

function draw<const T>(random: Random, from: readonly T[]): T {
  const one = random.pick(from);
  if (one === undefined) throw new Error('nothing to draw from');
  return one;
}
