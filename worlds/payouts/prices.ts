/**
 * The provider's fees rise and fall while approvers decide, and callers write wide limits into their requests. A payout that
 * was approved is paid at the terms that an approver saw, or within the tolerance of the approver (H222).
 */

import { toMinorUnits } from '../../src/contract/money.ts';
import type { PayoutResult, PayoutState } from '../../src/contract/payout.ts';
import type { Random } from '../engine/random.ts';
import type { PlannedPrices } from './planned.ts';
import type { Feature, Scene } from './scene.ts';

/** What an approver has seen. */
export interface SeenTerms {
  pay: string;
  fee: string;
}

const PROBABILITY = 0.3;
const HUGE = { currency: 'USD', amount: '9999999999999999.99' };

export function planPrices(random: Random, faultPhaseMs: number): PlannedPrices | undefined {
  if (!random.chance(PROBABILITY)) return undefined;
  return {
    changes: Array.from({ length: 1 + Math.floor(random.next() * 4) }, () => ({
      atMs: random.between(0, 2 * faultPhaseMs),
      feeRate: random.pick(['0.001', '0.005', '0.006', '0.05', '0.5']) ?? '0.005',
    })),
    tolerance: random.pick([undefined, '0.5', '2', '9.99']),
    limits: random.pick([undefined, { maxPay: HUGE, maxFee: HUGE }, { minRate: '0.000001' }]),
  };
}

export class Prices implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  begin(): void {
    const { world, provider } = this.scene.system;
    for (const { atMs, feeRate } of this.scene.plan.prices?.changes ?? [])
      world.at(atMs, () => {
        provider.control.changeSettings({ feeRate });
        this.scene.note('provider', `charges a fee of ${feeRate}`);
        world.occurred.add('fees changed');
      });
  }
}

export function seenTerms({ quote }: PayoutState): SeenTerms[] {
  return quote ? [{ pay: quote.pay.amount, fee: quote.fee.amount }] : [];
}

/** Whether a payout was paid at worse terms than each approval covers. */
export function isBeyondApprovals(
  { quote }: PayoutResult,
  approved: readonly SeenTerms[],
  tolerance = '0',
): boolean {
  if (!quote) return false;
  const factor = 10_000n + toMinorUnits(tolerance);
  const isWithin = (paid: string, seen: string) =>
    toMinorUnits(paid) * 10_000n <= toMinorUnits(seen) * factor;
  return !approved.some(({ pay, fee }) => isWithin(quote.pay.amount, pay) && isWithin(quote.fee.amount, fee));
}
