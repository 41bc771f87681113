/** What the forms of a payout do: they run the operations of the API. */
import type { FastifyInstance } from 'fastify';
import type { Verb } from '../config/callers.ts';
import { invalidFields } from '../service/problem.ts';
import { type Desk, postForm } from './context.ts';
import { type Fields, filledIn } from './forms.ts';
import { payoutLink } from './html.ts';
import { redirectWith } from './notices.ts';

const DECISIONS = ['approve', 'refuse', 'cancel', 'resolve', 'acknowledge', 'poll'] as const satisfies Verb[];
type DecisionVerb = (typeof DECISIONS)[number];

const BODIES: Readonly<Record<DecisionVerb, (fields: Fields) => object | undefined>> = {
  approve: (fields) => filledIn(fields, 'note', 'lockRateId', 'tolerance'),
  refuse: (fields) => filledIn(fields, 'note', 'lockRateId'),
  cancel: (fields) => filledIn(fields, 'reason'),
  acknowledge: (fields) => filledIn(fields, 'note'),
  poll: () => undefined,
  resolve: resolution,
};

export function decisionRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const verb of DECISIONS)
    postForm(scope, desk, { path: `/payouts/${verb}`, verb }, async ({ caller }, _request, reply, fields) => {
      const { partnerOrderId = '', app = '' } = fields;
      await desk.acting.run(caller, `POST /v1/payouts/{partnerOrderId}/${verb}`, {
        params: { partnerOrderId },
        query: { app },
        body: BODIES[verb](fields),
      });
      const next = fields['from'] === 'inbox' ? '/desk' : payoutLink({ app, partnerOrderId });
      return redirectWith(reply, next, { done: verb, app, id: partnerOrderId });
    });
}

function resolution(fields: Fields): object {
  const { decision, sends, ...ids } = filledIn(fields, 'decision', 'orderId', 'tradeOrderId', 'sends');
  if (decision === 'created') return { created: true, ...ids };
  const reviewedOrderIds = reviewedIn(fields);
  return {
    ...{ created: false, then: decision },
    ...(sends !== undefined && { sends: Number(sends) }),
    ...(reviewedOrderIds !== undefined && { reviewedOrderIds }),
  };
}

/** The orders that the page showed, if the person states that none of them belongs to the payout. */
function reviewedIn({ noneIsOurs, reviewedOrderIds }: Fields): unknown {
  if (noneIsOurs !== 'yes' || reviewedOrderIds === undefined) return undefined;
  try {
    return JSON.parse(reviewedOrderIds);
  } catch {
    throw invalidFields([{ path: 'reviewedOrderIds', message: 'is not a list' }]);
  }
}
