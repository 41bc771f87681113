/**
 * When a world has met a hazard of `docs/hazards.md`: those that time, faults or people bring about. A row says what must
 * have happened, not that it was survived: that is the oracle's.
 */
import type { Scene } from '../payouts/scene.ts';
import { EventType } from '../temporal/history.ts';
import { type ActivityRun, type Witness, witnesses } from './witness.ts';

export interface World {
  /** Faults, losses, strikes and people, by name. */
  met: ReadonlySet<string>;
  scene: Scene;
  payouts: readonly Witness[];
}

const NO_ORDER = 900_004;
const ILLEGAL = 900_002;
const UNDOCUMENTED = 12_345;
const BUSY = 429;

type Reached = (world: World) => boolean;

const some =
  (is: (payout: Witness) => boolean): Reached =>
  ({ payouts }) =>
    payouts.some(is);
const met =
  (...names: readonly string[]): Reached =>
  ({ met: all }) =>
    names.some((name) => all.has(name));
const played = (...scenarios: readonly string[]): Reached =>
  some(({ scenario, orders }) => orders.length > 0 && scenarios.some((one) => scenario.includes(one)));

const isCreate = ({ type }: ActivityRun) => type === 'createPayout';
const isLost = (activity: ActivityRun) => activity.ended === 'failed' || activity.ended === 'timed-out';
const did = ({ people }: Witness, what: string) => people.filter((one) => one.what === what);
const sentBefore = ({ creates }: Witness, atMs: number) => creates.some((create) => create.atMs < atMs);
/** The queries did not know an order that there was. */
const isDenied = ({ calls, orders }: Witness) =>
  orders.some(({ createdAt }) =>
    calls.some(
      ({ operation, code, atMs }) =>
        operation === 'queryResult' && Number(code) === NO_ORDER && atMs > Date.parse(createdAt),
    ),
  );
const hasUnknownSend = ({ activities }: Witness) => activities.some((one) => isCreate(one) && isLost(one));

export const HAZARDS: Readonly<Record<string, Reached>> = {
  H1: some((payout) => hasUnknownSend(payout) && payout.orders.length > 0),
  H2: (world) => Number(world.scene.plan.settings.readLagMs) > 0 && world.payouts.some(isDenied),
  H3: some(({ creates }) => new Set(creates.map(({ body }) => body)).size > 1),
  H4: some(({ creates }) => creates.some((one) => one.answered === BUSY && one.effect === 'committed')),
  H5: some(({ creates }) => creates.some(({ code }) => Number(code) === UNDOCUMENTED)),
  H6: some((payout) =>
    [...did(payout, 'reset'), ...did(payout, 'reset after its end')].some(({ atMs }) =>
      sentBefore(payout, atMs),
    ),
  ),
  H7: some((payout) => did(payout, 'start-again').length > 0),
  H9: some((payout) => did(payout, 'cancel').length > 0),
  H10: some((payout) => did(payout, 'terminate').some(({ atMs }) => sentBefore(payout, atMs))),
  H13: played('drift', 'lock-ignored'),
  H17: some(({ result }) => result?.reason?.code === 'INSUFFICIENT_BALANCE'),
  H18: played('sums-wrong'),
  H19: played('notify=early', 'notify=forged'),
  H20: played('complete-late'),
  H21: played('v2-disagrees'),
  H22: played('returned', 'refund'),
  H23: played('detail=none', 'detail-late'),
  H24: played('unknown-status'),
  H26: some(({ creates }) => creates.some((one) => one.answered === 503 && one.effect === 'committed')),
  H27: some(({ calls }) =>
    calls.some(({ operation, code }) => operation === 'queryResult' && Number(code) === ILLEGAL),
  ),
  H28: met('standstill: queryResult'),
  H29: played('notify=early'),
  H30: played('notify=wrong-order'),
  H31: played('notify=doubled', 'notify=out-of-order'),
  H32: played('notify=forged'),
  H34: played('notify=late'),
  H37: ({ scene }) => scene.there.provider.control.counts().maxCallsInAnySecond >= 18,
  H39: some(({ runs }) =>
    runs.some(
      ({ entries }) => entries.at(-1)?.type === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
    ),
  ),
  H42: met('oauthToken drop-after', 'oauthToken latency', 'oauthToken slow-body', 'oauthToken cut-body'),
  H44: ({ scene }) => scene.there.provider.control.calls().some(({ token }) => token === 'expired'),
  H49: met('user: deny'),
  H50: met('keys rotated'),
  H52: met('a query ran ahead of the next workflow task'),
  H53: (world) =>
    world.scene.restoredAtMs !== undefined &&
    world.payouts.some((payout) => sentBefore(payout, world.scene.restoredAtMs ?? 0)),
  H54: played('other-beneficiary'),
  H55: some(({ calls }) => calls.some(({ code }) => Number(code) === ILLEGAL)),
  H56: some(({ creates }) => creates.length > 2),
  H57: met('queryResult random-answer', 'queryPayDetail random-answer'),
  H58: some(
    (payout) => hasUnknownSend(payout) && (did(payout, 'cancel').length > 0 || payout.creates.length > 1),
  ),
  H60: some(({ activities, creates }) => activities.filter(isCreate).length > creates.length),
  H102: met('freeze while a create is under way'),
  H103: some(({ people, activities }) =>
    people.some(({ atMs }) =>
      activities.some((one) => one.type === 'confirmOrder' && one.atMs <= atMs && atMs < one.endedAtMs),
    ),
  ),
  H104: ({ met: all, scene }) =>
    scene.plan.batches.length > 0 &&
    ['kill', 'batch: terminate', 'batch: terminate-part'].some((one) => all.has(one)),
  H107: some(
    ({ people, runs, creates }) =>
      people.some(({ what }) => what === 'terminate') && runs.length > 1 && creates.length > 0,
  ),
  H115: ({ met: all, scene }) =>
    scene.plan.openings.length > 0 && [...all].some((name) => name.startsWith('receivingAccountCreate ')),
  H131: met('cut-off-from-provider'),
  H132: (world) => Number(world.scene.plan.settings.readLagMs) === 0 && world.payouts.some(isDenied),
  H133: met('token random-answer'),
  H134: some(({ activities }) => activities.some((one) => isCreate(one) && one.ended === 'timed-out')),
};

/** Faults, losses, strikes and people of a world, by name; and how the provider played each order. */
export function faultsIn({ there, plan }: Scene): string[] {
  const { world, provider } = there;
  for (const { operation, fault } of provider.control.calls())
    if (fault !== null) world.met.add(`${operation} ${fault.split(' ')[0]}`);
  for (const { partnerOrderId, scenario } of provider.control.ledger().orders)
    if (partnerOrderId !== null) world.met.add(`order: ${scenario}`);
  if (plan.settings.readLagMs) world.met.add('reads lag');
  return [...world.met];
}

export function hazardsIn(scene: Scene): string[] {
  const world = { met: scene.there.world.met, scene, payouts: witnesses(scene) };
  return Object.keys(HAZARDS).filter((id) => HAZARDS[id]?.(world));
}
