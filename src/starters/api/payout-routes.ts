/** Lists, starts, reads and steers payouts. Decisions are recorded under the name of the caller. */
import { z } from 'zod';
import { payoutPageSchema } from '../../contract/lists.ts';
import { payoutResultSchema, payoutStateSchema, timelineSchema } from '../../contract/payout.ts';
import { payoutRequestSchema, shownRequestSchema } from '../../contract/payout-request.ts';
import { admittedCaller } from '../../http/authentication.ts';
import {
  DECISION_VERBS,
  type DecisionVerb,
  decisionBodies,
  include,
  payoutId,
  payoutQuery,
} from '../../service/requests.ts';
import type { Service } from '../../service/service.ts';
import { type Api, appQuery, decided, snapshot, started, wait, waitingFor } from './routes.ts';

const PAYOUT = '/v1/payouts/:partnerOrderId';
const params = payoutId.pick({ partnerOrderId: true });
export function payoutRoutes(api: Api, service: Service): void {
  api.get('/v1/payouts', {
    config: { verb: 'read' },
    schema: {
      summary: 'List payouts',
      querystring: payoutQuery,
      responses: { 200: { description: 'A page; it may lag by some seconds', schema: payoutPageSchema } },
    },
    handler: (request) => service.listPayouts(admittedCaller(request), request.query),
  });

  api.post('/v1/payouts', {
    config: { verb: 'start' },
    schema: {
      summary: 'Start a payout. Sending the same body again is safe and returns the same response',
      body: payoutRequestSchema,
      ownId: 'partnerOrderId',
      responses: {
        202: { description: 'The payout is started, or was already', schema: started('partnerOrderId') },
      },
      problems: { 409: 'partnerOrderId belongs to a payout with another body' },
    },
    handler: (request) => service.start(admittedCaller(request), request.body),
  });

  api.get(PAYOUT, {
    config: { verb: 'read', waits: true },
    schema: {
      ...snapshot('payout', payoutStateSchema, payoutResultSchema, {
        request: shownRequestSchema.exactOptional().describe('With include=request: what was asked for'),
        startedBy: z.string().exactOptional().describe('The caller who started the payout'),
        timeline: timelineSchema.exactOptional().describe('With include=timeline: what has happened'),
      }),
      params,
      querystring: appQuery.extend({ wait, include }),
    },
    handler: (request, reply) => {
      const { wait: forMs, app, include: more } = request.query;
      const id = { ...request.params, app };
      return service.payout(admittedCaller(request), id, waitingFor(forMs, reply), more);
    },
  });

  for (const verb of DECISION_VERBS)
    api.post(`${PAYOUT}/${verb}`, {
      config: { verb },
      schema: {
        ...decided('payout', payoutStateSchema),
        summary: SUMMARIES[verb],
        params,
        querystring: appQuery,
        body: decisionBodies[verb],
      },
      handler: (request) => {
        const id = { ...request.params, ...request.query };
        return service.decide(admittedCaller(request), verb, id, request.body);
      },
    });
}

const SUMMARIES: Record<DecisionVerb, string> = {
  approve: 'Approve a payout that awaits approval. The caller who started it cannot approve it',
  refuse: 'Refuse a payout that awaits approval. It ends without an order',
  cancel: 'Cancel a payout. Not accepted after the create call has begun',
  resolve: 'Decide whether the order of a payout in review exists',
  acknowledge: 'Acknowledge the flags of a finished payout: they leave the lists',
  poll: 'Poll the provider now',
};
