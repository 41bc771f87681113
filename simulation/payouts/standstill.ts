/** The provider stops answering one operation for long: no payout may stand still without a flag. */
import type { FaultInput } from '../../simulator/index.ts';
import type { PayoutPhase } from '../../src/domain/payout.ts';
import type { Random } from '../world/random.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { PlannedPayout } from './plan.ts';
import type { Feature, Scene } from './scene.ts';

/** Which operation, and what comes instead of its answers. */
export interface PlannedStandstill {
  operation: keyof typeof DEPENDENT;
  fault: FaultInput;
  atMs: number;
  lastsMs: number;
}

/** The phases that do not get on without an operation. */
const DEPENDENT = {
  token: ['QUOTING', 'CREATING', 'RECONCILING', 'PROCESSING'],
  accountQuery: ['QUOTING'],
  fee: ['QUOTING'],
  queryResult: ['RECONCILING', 'PROCESSING'],
} as const satisfies Record<string, readonly PayoutPhase[]>;
const OPERATIONS = ['token', 'accountQuery', 'fee', 'queryResult'] as const;
const FAULTS: readonly FaultInput[] = [
  { kind: 'drop-before' },
  { kind: 'html-502' },
  { kind: 'garbage' },
  { kind: 'envelope', code: 900000 },
  { kind: 'status', status: 429, retryAfter: 60 },
  { kind: 'status', status: 503 },
];
const SELDOM = 0.007;
const MINUTE_MS = 60_000;
/** A call that waits is flagged after five minutes, and queries without a usable answer after three of them. */
const FLAGGED_WITHIN_MS = 12 * MINUTE_MS;

export function standstillIn(random: Random, troubleMs: number): PlannedStandstill | undefined {
  if (!random.chance(SELDOM)) return undefined;
  return {
    operation: random.pick(OPERATIONS) ?? 'fee',
    fault: random.pick(FAULTS) ?? { kind: 'drop-before' },
    // Before most payouts have begun.
    atMs: random.between(0, 0.3 * troubleMs),
    lastsMs: random.between(15, 30) * MINUTE_MS,
  };
}

export class Standstill implements Feature {
  private readonly scene: Scene;
  private beganAtMs: number | undefined;
  /** By the payout's number: the phase that it was last seen in, and since when. */
  private readonly seen = new Map<number, { phase: PayoutPhase; sinceMs: number }>();

  constructor(scene: Scene) {
    this.scene = scene;
  }

  begin(): void {
    const { standstill } = this.scene.plan;
    const { world, provider } = this.scene.there;
    if (!standstill) return;
    const { operation, fault, atMs } = standstill;
    world.at(atMs, () => {
      this.beganAtMs = world.now;
      this.scene.tell('provider', `does not answer ${operation} any more`);
      world.met.add(`standstill: ${operation}`);
      provider.control.addFault({ operation, fault });
    });
  }

  look(): void {
    const { calmSinceMs, plan, there } = this.scene;
    if (this.beganAtMs === undefined || calmSinceMs !== undefined) return;
    for (const payout of plan.payouts)
      if (there.server.latest(payoutId(payout.number))?.isRunning) there.world.spawn(this.lookAt(payout));
  }

  private async lookAt({ number }: PlannedPayout): Promise<void> {
    const { plan, there, calmSinceMs } = this.scene;
    const { world } = there;
    const partnerOrderId = partnerOrderIdOf(number);
    const state = await this.scene.stateOf(number);
    if (!state || !plan.standstill || calmSinceMs !== undefined) return;
    const { phase, needsAttention, lastConfirmedAt } = state;
    const known = this.seen.get(number);
    const sinceMs = known?.phase === phase ? known.sinceMs : world.now;
    this.seen.set(number, { phase, sinceMs });
    const dependent: readonly PayoutPhase[] = DEPENDENT[plan.standstill.operation];
    const confirmedAtMs = lastConfirmedAt === undefined ? 0 : Date.parse(lastConfirmedAt);
    const stillMs = world.now - Math.max(sinceMs, this.beganAtMs ?? 0, confirmedAtMs);
    if (dependent.includes(phase) && stillMs > FLAGGED_WITHIN_MS && !needsAttention)
      world.violation(
        `${partnerOrderId} has been ${phase} for ${Math.round(stillMs / MINUTE_MS)} minutes, and is not flagged`,
      );
  }
}
