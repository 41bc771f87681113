/** The workflow types that workers run. */
export { payout } from './payout.ts';
export { accountQuery, payoutQuote, serviceProbe } from './reads.ts';
export { tokenRenewal } from './token-renewal.ts';
export { userAuthorization } from './user-authorization.ts';
