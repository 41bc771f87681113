/** The workflow types that workers register. */

export { payoutBatch } from './batch/payout-batch.ts';
export { payoutBatchPart } from './batch/payout-batch-part.ts';
export { callerAllowance } from './caller-allowance.ts';
export { eventDelivery } from './events/event-delivery.ts';
export { payout } from './payout/payout.ts';
export { payoutOperation } from './payout/payout-operation.ts';
export { rateLimitLease } from './rate-limit-lease.ts';
export {
  accountQuery,
  payoutQuote,
  providerProbe,
  receivingBalanceQuery,
  receivingDetailQuery,
  workerProbe,
} from './reads.ts';
export { openReceivingAccount } from './receiving-account/open-receiving-account.ts';
export { payoutAcknowledgement, payoutFollowUp } from './reconciliation/payout-follow-up.ts';
export { payoutReconciliation } from './reconciliation/payout-reconciliation.ts';
export { payoutReport } from './reconciliation/payout-report.ts';
export { tokenRenewal } from './tokens/token-renewal.ts';
export { authorizationLink, userAuthorization } from './tokens/user-authorization.ts';
