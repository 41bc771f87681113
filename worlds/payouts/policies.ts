/** An operator sets a policy that requires approvals while payouts run. From then on, no create comes without one. */
import { RENEWAL_VALID_MS } from '../../src/domain/rate-limit.ts';
import type { Random } from '../engine/random.ts';
import { partnerOrderIdOf, refOf } from './payout-world.ts';
import type { PlannedPayout, PlannedPolicy } from './planned.ts';
import type { Feature, Scene } from './scene.ts';

const PROBABILITY = 0.2;
/** Every payout of the simulation is above it. */
const POLICY = { above: {}, callers: {} };
/** A call that was written on time is under way for as long. */
const TRIP_MS = 20;

export function planPolicy(random: Random, faultPhaseMs: number): PlannedPolicy | undefined {
  return random.chance(PROBABILITY) ? { atMs: random.between(0, 0.8) * faultPhaseMs } : undefined;
}

export class Policies implements Feature {
  private readonly scene: Scene;
  private readonly approved = new Set<number>();
  private isSet = false;
  private countsFromMs = Number.POSITIVE_INFINITY;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  begin(): void {
    const { policy } = this.scene.plan;
    if (policy) this.scene.system.world.spawn(this.set(policy));
  }

  /** The approver of the payouts that ask for no approval themselves. */
  inspect(): void {
    if (!this.isSet) return;
    for (const payout of this.scene.open.values())
      if (!payout.approval) this.scene.system.world.spawn(this.approve(payout));
  }

  async check(): Promise<void> {
    const { provider, world } = this.scene.system;
    for (const { number, approval } of this.scene.plan.payouts) {
      if (approval || this.approved.has(number)) continue;
      const { creates } = provider.control.ledgerOf(partnerOrderIdOf(number));
      if (creates.some(({ atMs }) => atMs > this.countsFromMs))
        world.violation(
          `${partnerOrderIdOf(number)} was created without the approval that the policy requires`,
        );
    }
  }

  private async set({ atMs }: PlannedPolicy): Promise<void> {
    const { system } = this.scene;
    await system.world.sleep(atMs);
    this.scene.recordAction('application', 'all', 'approval policy');
    this.isSet = true;
    await system.setShared({ approvals: POLICY });
    this.countsFromMs = system.world.now + RENEWAL_VALID_MS + TRIP_MS;
  }

  private async approve({ number }: PlannedPayout): Promise<void> {
    const state = await this.scene.stateOf(number);
    if (state?.phase !== 'AWAITING_APPROVAL') return;
    const sent = { by: 'approver', lockRateId: state.quote?.lockRateId };
    this.approved.add(number);
    await this.scene.ignoreExpectedErrors(partnerOrderIdOf(number), () =>
      this.scene.system.payouts.approve(refOf(number), sent),
    );
  }
}
