/** Starts, reads and steers payouts. Decisions are recorded under the name of the caller's key. */
import { z } from 'zod';
import type { PayoutRef, PayoutStart } from '../../client/payouts.ts';
import type { Caller, Verb } from '../../config/callers.ts';
import { TOLERANCE, TOLERANCE_RULE } from '../../contract/codes.ts';
import { ownId, text } from '../../contract/fields.ts';
import { type PayoutState, payoutResultSchema, payoutStateSchema } from '../../contract/payout.ts';
import { payoutRequestSchema } from '../../contract/payout-request.ts';
import { isScoped, isStarter, starterName } from '../../domain/permissions.ts';
import { requirePayout, requirePayoutScope } from './callers.ts';
import type { Clients } from './clients.ts';
import { withinDailyLimits } from './daily-limits.ts';
import { empty, noBody, type Operation, operation, startedFields } from './operation.ts';
import { Problem } from './problem.ts';
import { decisionOperation, seenSends, snapshotOperation } from './request-operations.ts';

const started = z.strictObject({ ...startedFields, partnerOrderId: z.string() });
const PAYOUT = {
  ...{ name: 'payout', path: '/v1/payouts/{partnerOrderId}' },
  params: z.strictObject({ partnerOrderId: ownId() }),
  ...{ state: payoutStateSchema, result: payoutResultSchema },
};

const refusal = z.strictObject({
  note: text().optional(),
  lockRateId: text(128)
    .optional()
    .describe('quote.lockRateId of the state that was read: the decision counts for no other quote'),
});
const approval = refusal.extend({
  tolerance: z
    .string()
    .regex(TOLERANCE, TOLERANCE_RULE)
    .optional()
    .describe(
      'by how many percent more than in the quote that was read the payer may pay, and the fee may be, in a later quote. Without it, a later quote that is worse is approved again',
    ),
});
const cancellation = z.strictObject({ reason: text().optional() }).optional();
const acknowledgement = z.strictObject({ note: text().optional() }).optional();
const resolution = z.discriminatedUnion('created', [
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

type DecisionVerb = Extract<Verb, 'approve' | 'refuse' | 'cancel' | 'resolve' | 'acknowledge' | 'poll'>;

const SUMMARIES: Record<DecisionVerb, string> = {
  approve: 'Approve a payout that awaits approval. The caller who started it cannot approve it',
  refuse: 'Refuse a payout that awaits approval. It ends without an order',
  cancel: 'Cancel a payout. Not accepted after the create has begun',
  resolve: 'Decide whether the order of a payout in review exists',
  acknowledge: 'Acknowledge the flags of a payout that has ended: they leave the lists',
  poll: 'Poll the provider now',
};

export function payoutOperations(clients: Clients): Operation[] {
  const { payouts, withTemporalDeadline } = clients;
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
      async ({ caller, body }) => {
        requirePayout(caller, body);
        return withTemporalDeadline(() =>
          withinDailyLimits(clients, caller, [body], {
            find: () => payouts.find(body),
            start: () => payouts.start(body, { startedBy: starterName(caller) }),
          }),
        );
      },
    ),
    snapshotOperation(clients, PAYOUT, {
      look: (ref) => payouts.look(ref),
      untilEnd: (ref, options) => payouts.untilEnd(ref, options),
      // The state does not name the client.
      authorize: async (ref, caller) =>
        isScoped(caller) && requirePayoutScope(caller, (await payouts.startDetails(ref)).request),
    }),
    decision(clients, 'approve', approval.optional(), (ref, by, body) =>
      payouts.approve(ref, { by, ...body }),
    ),
    decision(clients, 'refuse', refusal.optional(), (ref, by, body) => payouts.refuse(ref, { by, ...body })),
    decision(clients, 'cancel', cancellation, (ref, by, body) => payouts.cancel(ref, { by, ...body })),
    decision(clients, 'resolve', resolution, (ref, by, body) => payouts.resolve(ref, { ...body, by })),
    decision(clients, 'acknowledge', acknowledgement, (ref, by, body) =>
      payouts.acknowledge(ref, { by, ...body }),
    ),
    decision(clients, 'poll', noBody, (ref) => payouts.poll(ref)),
  ];
}

function decision<B extends z.ZodType>(
  clients: Clients,
  verb: DecisionVerb,
  body: B,
  send: (ref: PayoutRef, by: string, body: z.output<B>) => Promise<PayoutState>,
): Operation {
  return decisionOperation(clients, PAYOUT, {
    ...{ verb, summary: SUMMARIES[verb], body, send },
    authorize: async (ref, caller) => requireAuthority(caller, verb, await clients.payouts.startDetails(ref)),
  });
}

function requireAuthority(caller: Caller, verb: DecisionVerb, { request, startedBy }: PayoutStart): void {
  // Both can make money move, so the caller's own limit applies as for a start.
  if (verb === 'approve' || verb === 'resolve') requirePayout(caller, request);
  else requirePayoutScope(caller, request);
  if ((verb === 'approve' || verb === 'resolve') && isStarter(caller, startedBy))
    throw new Problem('own-payout', `the caller who started a payout cannot ${verb} it`);
}
