/**
 * When a world reaches a hazard of `docs/hazards.md` that time, faults or people cause. A row states what must have
 * happened. Whether the product survived it is for the oracle to check.
 */
import type { Scene } from '../payouts/scene.ts';
import { type ActivityRun, EventType } from '../temporal/history.ts';
import { collectEvidence, type PayoutEvidence } from './payout-evidence.ts';

export interface World {
  /** Names of the faults, losses and interventions. */
  occurred: ReadonlySet<string>;
  scene: Scene;
  payouts: readonly PayoutEvidence[];
}

const NO_ORDER = 900_004;
const ILLEGAL = 900_002;
const UNDOCUMENTED = 12_345;
const BUSY = 429;
const REFUSALS = [30_001, 30_002, 30_005];
const REFUSED_QUOTE = 40_001;
const REPEATED = 30_003;

type Predicate = (world: World) => boolean;

const somePayout =
  (is: (payout: PayoutEvidence) => boolean): Predicate =>
  ({ payouts }) =>
    payouts.some(is);
const occurred =
  (...names: readonly string[]): Predicate =>
  ({ occurred: all }) =>
    names.some((name) => all.has(name));
/** The first, and one of the others. */
const both =
  (name: string, ...others: readonly string[]): Predicate =>
  ({ occurred: all }) =>
    all.has(name) && others.some((one) => all.has(one));
const playedScenario = (...scenarios: readonly string[]): Predicate =>
  somePayout(({ scenario, orders }) => orders.length > 0 && scenarios.some((one) => scenario.includes(one)));

const isCreate = ({ type }: ActivityRun) => type === 'createPayout';
const isLost = (activity: ActivityRun) => activity.ended === 'failed' || activity.ended === 'timed-out';
const actionsOf = ({ actions }: PayoutEvidence, what: string) => actions.filter((one) => one.what === what);
const sentBefore = ({ creates }: PayoutEvidence, atMs: number) =>
  creates.some((create) => create.atMs < atMs);
/** The queries did not find an existing order. */
const wasReportedMissing = ({ calls, orders }: PayoutEvidence) =>
  orders.some(({ createdAt }) =>
    calls.some(
      ({ operation, code, atMs }) =>
        operation === 'queryResult' && Number(code) === NO_ORDER && atMs > Date.parse(createdAt),
    ),
  );
const hasUnknownSend = ({ activities }: PayoutEvidence) =>
  activities.some((one) => isCreate(one) && isLost(one));

const hasOrders: Predicate = somePayout(({ orders }) => orders.length > 0);

export const HAZARDS: Readonly<Record<string, Predicate>> = {
  H1: somePayout((payout) => hasUnknownSend(payout) && payout.orders.length > 0),
  H2: (world) => Number(world.scene.plan.settings.readLagMs) > 0 && world.payouts.some(wasReportedMissing),
  H3: somePayout(({ creates }) => new Set(creates.map(({ body }) => body)).size > 1),
  H4: somePayout(({ creates }) => creates.some((one) => one.answered === BUSY && one.effect === 'committed')),
  H5: somePayout(({ creates }) => creates.some(({ code }) => Number(code) === UNDOCUMENTED)),
  H6: somePayout((payout) =>
    [...actionsOf(payout, 'reset'), ...actionsOf(payout, 'reset after its end')].some(({ atMs }) =>
      sentBefore(payout, atMs),
    ),
  ),
  H7: somePayout((payout) => actionsOf(payout, 'start-again').length > 0),
  H9: somePayout((payout) => actionsOf(payout, 'cancel').length > 0),
  H10: somePayout((payout) =>
    [...actionsOf(payout, 'terminate'), ...actionsOf(payout, 'start with bad input')].some(({ atMs }) =>
      sentBefore(payout, atMs),
    ),
  ),
  H13: playedScenario('drift', 'lock-ignored'),
  H17: somePayout(({ result }) => result?.reason?.code === 'INSUFFICIENT_BALANCE'),
  H18: playedScenario('sums-wrong'),
  H19: playedScenario('notify=early', 'notify=forged'),
  H20: playedScenario('complete-late'),
  H21: playedScenario('v2-disagrees'),
  H22: playedScenario('returned', 'refund'),
  H23: playedScenario('detail=none', 'detail-late'),
  H24: playedScenario('unknown-status'),
  H26: somePayout(({ creates }) => creates.some((one) => one.answered === 503 && one.effect === 'committed')),
  H27: somePayout(({ calls }) =>
    calls.some(({ operation, code }) => operation === 'queryResult' && Number(code) === ILLEGAL),
  ),
  H28: occurred('outage: queryResult'),
  H29: playedScenario('notify=early'),
  H30: playedScenario('notify=wrong-order'),
  H31: playedScenario('notify=doubled', 'notify=out-of-order'),
  H32: playedScenario('notify=forged'),
  H34: playedScenario('notify=late'),
  H37: ({ scene }) => scene.system.provider.control.counts().maxCallsInAnySecond >= 18,
  H39: somePayout(({ runs }) =>
    runs.some(
      ({ entries }) => entries.at(-1)?.type === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
    ),
  ),
  H42: occurred('oauthToken drop-after', 'oauthToken latency', 'oauthToken slow-body', 'oauthToken cut-body'),
  H44: ({ scene }) => scene.system.provider.control.calls().some(({ token }) => token === 'expired'),
  H49: occurred('user: deny'),
  H50: occurred('keys rotated'),
  H52: occurred('a query ran ahead of the next workflow task'),
  H53: (world) =>
    world.scene.restoredAtMs !== undefined &&
    world.payouts.some((payout) => sentBefore(payout, world.scene.restoredAtMs ?? 0)),
  H54: playedScenario('other-beneficiary'),
  H55: somePayout(({ calls }) => calls.some(({ code }) => Number(code) === ILLEGAL)),
  H56: somePayout(({ creates }) => creates.length > 2),
  H57: occurred('queryResult random-answer', 'queryPayDetail random-answer'),
  H58: somePayout(
    (payout) =>
      hasUnknownSend(payout) && (actionsOf(payout, 'cancel').length > 0 || payout.creates.length > 1),
  ),
  H60: somePayout(({ activities, creates }) => activities.filter(isCreate).length > creates.length),
  H102: occurred('freeze while a create is in flight'),
  H103: somePayout(({ actions, activities }) =>
    actions.some(({ atMs }) =>
      activities.some((one) => one.type === 'confirmOrder' && one.atMs <= atMs && atMs < one.endedAtMs),
    ),
  ),
  H104: ({ occurred: all, scene }) =>
    scene.plan.batches.length > 0 &&
    ['kill', 'batch: terminate', 'batch: terminate-part'].some((one) => all.has(one)),
  H107: somePayout(
    ({ actions, runs, creates }) =>
      actions.some(({ what }) => what === 'terminate') && runs.length > 1 && creates.length > 0,
  ),
  H115: ({ occurred: all, scene }) =>
    scene.plan.openings.length > 0 && [...all].some((name) => name.startsWith('receivingAccountCreate ')),
  H131: occurred('cut-off-from-provider'),
  H132: (world) =>
    Number(world.scene.plan.settings.readLagMs) === 0 && world.payouts.some(wasReportedMissing),
  H133: occurred('token random-answer'),
  H134: somePayout(({ activities }) => activities.some((one) => isCreate(one) && one.ended === 'timed-out')),
  H166: both('events delivered', 'endpoint: NEVER'),
  H167: both('events delivered', 'endpoint: HTTP_500', 'endpoint: REFUSED', 'endpoint: LOST'),
  H168: both('events delivered', 'kill'),
  H169: occurred('endpoint: disabled'),
  H172: both('events delivered', 'endpoint: HTTP_302'),
  H173: occurred('events delivered'),
  H200: occurred('queryResult odd-text', 'queryPayDetail odd-text'),
  H210: occurred('application: pause'),
  H211: both(
    'application: pause',
    'kill',
    'freeze',
    'cut-off',
    'application: terminate of the lease',
    'application: reset of the lease',
  ),
  H230: somePayout(({ creates }) =>
    creates.some(({ code, effect }) => REFUSALS.includes(Number(code)) && effect === 'committed'),
  ),
  H231: (world) => hasOrders(world) && world.scene.plan.settings.numberStyle === 'exponent',
  H233: (world) => hasOrders(world) && world.scene.plan.settings.tradeOrderId === 'own',
  H234: (world) => hasOrders(world) && (world.scene.plan.settings.echo ?? 'exact') !== 'exact',
  H235: ({ scene, payouts }) =>
    payouts.some(
      (payout) =>
        hasUnknownSend(payout) &&
        payout.orders.some(({ payerId }) => scene.plan.dialect?.strangersOfClients.includes(payerId)),
    ),
  H236: somePayout(({ creates }) => creates.some(({ code }) => Number(code) === REPEATED)),
  H240: ({ scene }) => (scene.plan.settings.contentEncoding ?? 'none') !== 'none',
  H241: ({ scene, occurred: all }) =>
    scene.plan.settings.retryAfterForm === 'date' && [...all].some((name) => name.endsWith(' status')),
  H242: occurred('fee reset-connection', 'queryResult reset-connection'),
  H244: ({ scene }) =>
    scene.system.provider.control.calls().some(({ code }) => Number(code) === REFUSED_QUOTE),
  H245: ({ scene, payouts }) =>
    scene.plan.settings.failedRefundFlag === true &&
    payouts.some(({ scenario }) => scenario.includes('partial')),
  H356: occurred('batch: old-start of a part'),
  H361: occurred('batch: reset of a part'),
};

/** Names of the faults, losses and interventions of a world, and of the scenario of each order. */
export function faultsIn({ system, plan }: Scene): string[] {
  const { world, provider } = system;
  for (const { operation, fault } of provider.control.calls())
    if (fault !== null) world.occurred.add(`${operation} ${fault.split(' ')[0]}`);
  for (const { partnerOrderId, scenario } of provider.control.ledger().orders)
    if (partnerOrderId !== null) world.occurred.add(`order: ${scenario}`);
  if (plan.settings.readLagMs) world.occurred.add('queries lag');
  return [...world.occurred];
}

export function hazardsIn(scene: Scene): string[] {
  const world = { occurred: scene.system.world.occurred, scene, payouts: collectEvidence(scene) };
  return Object.keys(HAZARDS).filter((id) => HAZARDS[id]?.(world));
}
