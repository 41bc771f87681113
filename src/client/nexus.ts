/**
 * `durable-payouts/nexus`: the Nexus service as another team's workflows see it. A module of its own, so that nothing else
 * gets into a workflow's bundle.
 */
import { operation, service } from 'nexus-rpc';
import type { PayoutRequestInput } from '../contract/payout-request.ts';
import type { PayoutResult } from '../domain/payout.ts';

export type { PayoutRequestInput, PayoutResult };

export const payoutsService = service('payouts', {
  /**
   * Pays, or joins the payout of the same body, running or ended; completes with its result. Innermost in a
   * failure stands an `ApplicationFailure`: `InvalidPayoutRequest`, whose `details[0]` names every bad field, or
   * `PayoutConflict` where the number belongs to another body.
   */
  pay: operation<PayoutRequestInput, PayoutResult>(),
});
