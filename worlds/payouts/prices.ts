/**
 * The provider's fees rise and fall while approvers decide, and callers write wide limits into their requests. A payout that
 * was approved is paid at the terms that an approver saw, or within the tolerance of the approver (H222).
 */

import { toMinorUnits } from '../../src/contract/money.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
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
  return quote ? [termsOf(quote)] : [];
}

export function termsOf({ pay, fee }: Record<'pay' | 'fee', { amount: string }>): SeenTerms {
  return { pay: pay.amount, fee: fee.amount };
}

export function sameTerms(one: SeenTerms, other: SeenTerms): boolean {
  return (
    toMinorUnits(one.pay) === toMinorUnits(other.pay) && toMinorUnits(one.fee) === toMinorUnits(other.fee)
  );
}

/** Whether a payout was paid at worse terms than each approval covers. */
export function isBeyondApprovals(paid: SeenTerms, approved: readonly SeenTerms[], tolerance = '0'): boolean {
  const factor = 10_000n + toMinorUnits(tolerance);
  const isWithin = (amount: string, seen: string) =>
    toMinorUnits(amount) * 10_000n <= toMinorUnits(seen) * factor;
  return !approved.some(({ pay, fee }) => isWithin(paid.pay, pay) && isWithin(paid.fee, fee));
}
