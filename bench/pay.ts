/** Many payouts at once, and their ends. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PayoutRequest } from '../src/domain/payout.ts';
import type { BenchStage } from './stage.ts';

/** So many starts are under way at once; the engine is not the subject. */
const STARTS_AT_ONCE = 25;

export function benchRequest(number: number, app: string, scenario: string): PayoutRequest {
  return {
    app,
    clientId: `client-${number % 50}`,
    payerId: 'payer-1',
    partnerOrderId: `b-${app}-${number}`,
    type: 'WITHDRAW',
    instructedAmount: { currency: 'CNY', amount: '100.00' },
    originCurrency: 'USD',
    targetCurrency: 'CNY',
    remittancePurposeCode: 'GOODS',
    platform: `sim:${scenario}`,
    receiver: {
      bankCountry: 'CN',
      bankName: 'Example Bank',
      bankAccountCurrency: 'CNY',
      bankAccountNumber: '6222020000000000',
      bankAccountName: 'Bench',
      idCardNumber: '110101199003070000',
      cardHoldType: 'Personal',
    },
  };
}

export async function startMany(stage: BenchStage, requests: readonly PayoutRequest[]): Promise<void> {
  const left = [...requests];
  const one = async () => {
    for (let request = left.shift(); request; request = left.shift()) await stage.payouts.start(request);
  };
  await Promise.all(Array.from({ length: STARTS_AT_ONCE }, one));
}

/** Until `count` payouts have ended; `look` is called about every second. */
export async function untilEnded(
  stage: BenchStage,
  count: number,
  look: (ended: number) => void = () => undefined,
) {
  for (;;) {
    const { count: ended } = await stage.client.workflow.count(
      "WorkflowType = 'payout' AND ExecutionStatus = 'Completed'",
    );
    look(ended);
    if (ended >= count) return;
    await sleep(1_000);
  }
}
