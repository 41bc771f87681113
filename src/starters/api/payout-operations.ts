/** Starts and reads payouts. */
import { z } from 'zod';
import { payoutResultSchema, payoutStateSchema } from '../../contract/payout-answers.ts';
import { payoutRequestSchema } from '../../contract/payout-request.ts';
import { requireAmount, requireApplication } from './callers.ts';
import type { Clients } from './clients.ts';
import { rejectedStart } from './error-mapping.ts';
import { appQuery, empty, noBody, type Operation, operation, payoutParams } from './operation.ts';

const started = z.strictObject({
  workflowId: z.string(),
  runId: z.string(),
  app: z.string(),
  partnerOrderId: z.string(),
});

const snapshot = z.strictObject({ state: payoutStateSchema, result: payoutResultSchema.exactOptional() });

export function payoutOperations({ payouts, withTemporalDeadline }: Clients): Operation[] {
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
        requireApplication(caller, body.app);
        requireAmount(caller, body.instructedAmount);
        return withTemporalDeadline(() => payouts.start(body, { startedBy: caller.name }));
      },
    ),
    operation(
      {
        method: 'GET',
        path: '/v1/payouts/{partnerOrderId}',
        verb: 'read',
        summary: 'Get the state of a payout and, after its end, its result',
        response: { status: 200, description: 'The state and, after the end, the result', schema: snapshot },
        problems: {
          404: 'no such payout',
          409: 'the start was rejected as bad input; errors has the fields',
        },
      },
      { params: payoutParams, query: appQuery, body: noBody },
      async ({ caller, params, query }) => {
        requireApplication(caller, query.app);
        return withTemporalDeadline(() => payouts.look({ ...params, ...query }).catch(rejectedStart));
      },
    ),
  ];
}
