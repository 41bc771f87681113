/** Start a payout, and look at it. */
import { z } from 'zod';
import { payoutResultSchema, payoutStateSchema } from '../../contract/payout-answers.ts';
import { payoutRequestSchema } from '../../contract/payout-request.ts';
import { demandAmount, demandApplication } from './callers.ts';
import type { Engine } from './engine.ts';
import { refusedStart } from './explained.ts';
import { noBody, nothing, type Operation, ofApp, ofPayout, operation } from './operation.ts';

const started = z.strictObject({
  workflowId: z.string(),
  runId: z.string(),
  app: z.string(),
  partnerOrderId: z.string(),
});

const found = z.strictObject({ state: payoutStateSchema, result: payoutResultSchema.exactOptional() });

export function payoutOperations(engine: Engine): Operation[] {
  return [start(engine), look(engine)];
}

function start({ payouts, soon }: Engine): Operation {
  return operation(
    {
      method: 'POST',
      path: '/v1/payouts',
      verb: 'start',
      summary: 'Start a payout. The same body again is the same payout, and gets the same answer',
      answer: { status: 202, description: 'It is started, or was before', schema: started },
      problems: { 409: 'partnerOrderId belongs to a payout with another body' },
    },
    { params: nothing, query: nothing, body: payoutRequestSchema },
    async ({ caller, body }) => {
      demandApplication(caller, body.app);
      demandAmount(caller, body.instructedAmount);
      return soon(() => payouts.start(body, { startedBy: caller.name }));
    },
  );
}

function look({ payouts, soon }: Engine): Operation {
  return operation(
    {
      method: 'GET',
      path: '/v1/payouts/{partnerOrderId}',
      verb: 'read',
      summary: 'Where a payout stands, and how it ended',
      answer: { status: 200, description: 'Its state, and with its end the result', schema: found },
      problems: { 404: 'no such payout', 409: 'its start was refused as bad input; errors says why' },
    },
    { params: ofPayout, query: ofApp, body: noBody },
    async ({ caller, params, query }) => {
      demandApplication(caller, query.app);
      const ref = { ...params, ...query };
      return soon(() => payouts.look(ref).catch(refusedStart));
    },
  );
}
