/**
 * `durable-payouts-client/nexus`: the definition of the Nexus service, for workflows in other namespaces. A separate module, so
 * that their workflow bundles contain nothing else.
 */
import { operation, service } from 'nexus-rpc';
import type { PayoutResult } from '../contract/payout.ts';
import type { PayoutRequest } from '../contract/payout-request.ts';

export type { PayoutRequest, PayoutResult };

export const payoutsService = service('payouts', {
  /**
   * Starts a payout, or joins the running or ended payout with the same body, and returns its result. The innermost cause
   * of a failure is an `ApplicationFailure`: `InvalidPayoutRequest`, whose `details[0]` lists every bad field, or
   * `PayoutConflict` if the `partnerOrderId` belongs to a payout with another body.
   */
  pay: operation<PayoutRequest, PayoutResult>(),
});
