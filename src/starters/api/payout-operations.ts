/** Starts, reads and steers payouts. Decisions are recorded under the name of the caller's key. */
import { z } from 'zod';
import type { Caller } from '../../config/callers.ts';
import { TOLERANCE, TOLERANCE_RULE } from '../../contract/codes.ts';
import { ownId, text } from '../../contract/fields.ts';
import type { PayoutState } from '../../contract/payout.ts';
import { payoutResultSchema, payoutStateSchema } from '../../contract/payout.ts';
import { payoutRequestSchema } from '../../contract/payout-request.ts';
import type { DecisionVerb } from '../../service/permissions.ts';
import type { PayoutId, Service } from '../../service/service.ts';
import { empty, noBody, type Operation, operation, startedFields } from './operation.ts';
import { decisionOperation, seenSends, snapshotOperation } from './request-operations.ts';

const started = z.strictObject({ ...startedFields, partnerOrderId: z.string() });
const PAYOUT = {
  ...{ name: 'payout', path: '/v1/payouts/{partnerOrderId}' },
  params: z.strictObject({ partnerOrderId: ownId() }),
  ...{ state: payoutStateSchema, result: payoutResultSchema },
};

export const refusal = z.strictObject({
  note: text().optional(),
  lockRateId: text(128)
    .optional()
    .describe('quote.lockRateId of the state that was read: the decision counts for no other quote'),
});
export const approval = refusal.extend({
  tolerance: z
    .string()
    .regex(TOLERANCE, TOLERANCE_RULE)
    .optional()
    .describe(
      'by how many percent more than in the quote that was read the payer may pay, and the fee may be, in a later quote. Without it, a later quote that is worse is approved again',
    ),
});
export const cancellation = z.strictObject({ reason: text().optional() }).optional();
export const acknowledgement = z.strictObject({ note: text().optional() }).optional();
export const resolution = z.discriminatedUnion('created', [
  z.strictObject({
    created: z.literal(true),
    orderId: text(128),
    tradeOrderId: text(128)
      .optional()
      .describe('one of the reviewedOrderIds: the trade queries have this number for the order'),
  }),
  z.strictObject({
    created: z.literal(false),
    then: z.enum(['end', 'retry']),
    sends: seenSends,
    reviewedOrderIds: z
      .array(text(128))
      .optional()
      .describe('reviewedOrderIds of the state that was read: none of these orders belongs to this payout'),
  }),
]);

const SUMMARIES: Record<DecisionVerb, string> = {
  approve: 'Approve a payout that awaits approval. The caller who started it cannot approve it',
  refuse: 'Refuse a payout that awaits approval. It ends without an order',
  cancel: 'Cancel a payout. Not accepted after the create has begun',
  resolve: 'Decide whether the order of a payout in review exists',
  acknowledge: 'Acknowledge the flags of a payout that has ended: they leave the lists',
  poll: 'Poll the provider now',
};

export function payoutOperations(service: Service): Operation[] {
  return [
    operation(
      {
        method: 'POST',
        path: '/v1/payouts',
        verb: 'start',
        summary: 'Start a payout. Sending the same body again is safe and returns the same response',
        response: { status: 202, description: 'The payout is started, or was already', schema: started },
        problems: { 409: 'partnerOrderId belongs to a payout with another body' },
      },
      { params: empty, query: empty, body: payoutRequestSchema },
      ({ caller, body }) => service.start(caller, body),
    ),
    snapshotOperation(PAYOUT, (caller, id, waiting) => service.payout(caller, id, waiting)),
    decision('approve', approval.optional(), (caller, id, body) => service.approve(caller, id, body)),
    decision('refuse', refusal.optional(), (caller, id, body) => service.refuse(caller, id, body)),
    decision('cancel', cancellation, (caller, id, body) => service.cancel(caller, id, body)),
    decision('resolve', resolution, (caller, id, body) => service.resolve(caller, id, body)),
    decision('acknowledge', acknowledgement, (caller, id, body) => service.acknowledge(caller, id, body)),
    decision('poll', noBody, (caller, id) => service.poll(caller, id)),
  ];
}

function decision<B extends z.ZodType>(
  verb: DecisionVerb,
  body: B,
  decide: (caller: Caller, id: PayoutId, body: z.output<B>) => Promise<PayoutState>,
): Operation {
  return decisionOperation(PAYOUT, { verb, summary: SUMMARIES[verb], body, decide });
}
