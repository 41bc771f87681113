/** Ids that others rely on: every key derives from the payout's identity. */

export const PAYOUTS_TASK_QUEUE = 'payouts';

export function payoutWorkflowId(app: string, partnerOrderId: string): string {
  return `payout:${app}:${partnerOrderId}`;
}

/** The queue that carries every call to the payments service for one application of one environment. */
export function apiTaskQueue(environment: string, app: string): string {
  return `payouts-api:${environment}:${app}`;
}
