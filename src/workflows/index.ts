/** The workflow types that workers run. */

export { openReceivingAccount } from './open-receiving-account.ts';
export { payout } from './payout.ts';
export { payoutBatch } from './payout-batch.ts';
export { payoutBatchPart } from './payout-batch-part.ts';
export { payoutFollowUp } from './payout-follow-up.ts';
export { payoutOperation } from './payout-operation.ts';
export { payoutReconciliation } from './payout-reconciliation.ts';
export { payoutReport } from './payout-report.ts';
export { rateLimitLease } from './rate-limit-lease.ts';
export {
  accountQuery,
  payoutQuote,
  receivingBalanceQuery,
  receivingDetailQuery,
  serviceProbe,
  workerProbe,
} from './reads.ts';
export { tokenRenewal } from './token-renewal.ts';
export { authorizationLink, userAuthorization } from './user-authorization.ts';
