/** A call budget whose owner is this process for as long as the test wants. */
import type { GatedCall } from '../../src/workers/budget/turns.ts';
import { CallBudget, type Term } from '../../src/workers/call-budget.ts';
import type { WorldOptions } from './payout-world.ts';

/** The simulator counts arrivals on a machine that runs other tests too, and is late by this much now and then. */
export const BUSY_MACHINE = { PAYMENTS_ARRIVAL_JITTER: '150ms' };

/** A world without workers yet, whose service counts strictly, and where asking takes less of the budget than creating. */
export function strictWorld(limit: number): WorldOptions {
  return {
    idle: true,
    settings: { callsPerSecond: limit, repeatedCreate: 'refuse' },
    env: {
      ...BUSY_MACHINE,
      PAYOUTS_POLL_FIRST: '4s',
      PAYOUTS_POLL_MAX: '6s',
      PAYMENTS_REPEATED_CREATE: 'safe',
      PAYMENTS_CALLS_PER_SECOND: `${limit}`,
      PAYMENTS_CALL_TIMEOUT: '2s',
    },
  };
}

export function openBudget(callsPerSecond: number, over: Partial<Term> = {}): CallBudget {
  const budget = new CallBudget();
  budget.open({ callsPerSecond, counts: () => true, silentMs: 0, ...over });
  return budget;
}

/** One call through the gate, written as soon as it may be. */
export async function send(
  budget: CallBudget,
  operation: GatedCall['operation'] = 'tradeResult',
  signal?: AbortSignal,
): Promise<boolean> {
  const call = { operation, ...(signal && { signal }) };
  await budget.pass(call);
  const written = budget.mayWrite(call);
  budget.over(call);
  return written;
}

/** The most calls in any second that begins with a call. */
export function mostInOneSecond(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
}
