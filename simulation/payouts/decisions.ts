/** Whether a payout does what people were told that it would: an accepted decision is kept. */
import { partnerOrderIdOf } from './payout-world.ts';
import type { PlannedPayout } from './plan.ts';
import type { Feature, Scene } from './scene.ts';

export interface Decided {
  atMs: number;
  what: 'approve' | 'refuse' | 'cancel' | 'resolve';
  /** The order that a person has named. */
  orderId?: string | undefined;
}

export class Decisions implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async judge(): Promise<void> {
    const { plan, there } = this.scene;
    // What Temporal has forgotten was not decided.
    if (plan.restored) return;
    for (const payout of plan.payouts.filter(isLeftInPlace))
      for (const decided of this.scene.decided.get(payout.number) ?? [])
        for (const wrong of this.wrongAfter(payout, decided))
          there.world.violation(`${partnerOrderIdOf(payout.number)} ${wrong}`);
  }

  private wrongAfter({ number }: PlannedPayout, { atMs, what, orderId }: Decided): string[] {
    const result = this.scene.results.get(number);
    if (!result) return [];
    const { creates } = this.scene.there.provider.control.ledgerOf(partnerOrderIdOf(number));
    const isStopped = what === 'refuse' || what === 'cancel';
    const isNotCreated = result.outcome === 'NOT_CREATED';
    return [
      isStopped && creates.some((create) => create.atMs > atMs) && `was sent after an accepted ${what}`,
      what === 'cancel' && !isNotCreated && `is ${result.outcome}, and its cancellation was accepted`,
      what === 'refuse' && creates.length === 0 && !isNotCreated && `is ${result.outcome}, and was refused`,
      orderId !== undefined && result.orderId !== orderId && `has not the order ${orderId} that was named`,
    ].filter((wrong) => typeof wrong === 'string');
  }
}

/** A reset, or a start after a termination, does not know what was decided since. */
function isLeftInPlace({ meddling }: PlannedPayout): boolean {
  return !meddling.some(({ kind }) => kind === 'reset' || kind === 'terminate');
}
