/** Starts many payouts, and waits for their ends. */
import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { PayoutRequest } from '../src/contract/payout-request.ts';
import type { BenchStage } from './stage.ts';
import { eachOf, type Say, steadily, untilCounted } from './waits.ts';

/** Bounds concurrent starts: the starts are not what is measured. */
const STARTS_AT_ONCE = 25;
/** Time for the startup, the notifications, and the confirmation of a rate-limited create. */
const LEEWAY_MS = 300_000;

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

export function benchRequests(count: number, app: string, scenario: string): PayoutRequest[] {
  return Array.from({ length: count }, (_, number) => benchRequest(number, app, scenario));
}

export async function startMany(stage: BenchStage, requests: readonly PayoutRequest[]): Promise<void> {
  await eachOf(requests, STARTS_AT_ONCE, async (request) => {
    await stage.payouts.start(request);
  });
}

/** Starts payouts evenly, so that starts and running payouts mix. */
export async function startSteadily(
  stage: BenchStage,
  requests: readonly PayoutRequest[],
  perSecond: number,
): Promise<void> {
  await steadily(requests, perSecond, async (request) => {
    await stage.payouts.start(request);
  });
}

/** Several times what the calls of this many payouts take at this rate. */
export function patienceMs(payouts: number, callsPerSecond: number): number {
  return LEEWAY_MS + (4 * 5 * payouts * 1_000) / callsPerSecond;
}

/** Waits until this many payouts have ended. */
export function untilEnded(stage: BenchStage, wanted: number, limitMs: number, say: Say): Promise<void> {
  const count = () => countOf(stage, completed('payout'));
  return untilCounted({ what: 'payouts ended', wanted, count, limitMs, say });
}

/** Waits until this many payouts wait for the end of their order. */
export function untilOpen(stage: BenchStage, wanted: number, limitMs: number, say: Say): Promise<void> {
  const count = () => countOf(stage, "WorkflowType = 'payout' AND PayoutPhase = 'PROCESSING'");
  return untilCounted({ what: 'payouts open', wanted, count, limitMs, say });
}

export async function countOf({ client }: BenchStage, query: string): Promise<number> {
  return (await client.workflow.count(query)).count;
}

export function completed(workflowType: string): string {
  return `WorkflowType = '${workflowType}' AND ExecutionStatus = 'Completed'`;
}

export async function ended({ client }: BenchStage, workflowType: string): Promise<WorkflowExecutionInfo[]> {
  const query = completed(workflowType);
  const infos: WorkflowExecutionInfo[] = [];
  for await (const info of client.workflow.list({ query, pageSize: 1_000 })) infos.push(info);
  return infos;
}
