/** What people decide about a payout. Who decides is the key's name, which no body can say otherwise. */
import { z } from 'zod';
import type { PayoutRef, PayoutStart } from '../../client/payouts.ts';
import type { Caller, Verb } from '../../config/callers.ts';
import { payoutStateSchema } from '../../contract/payout-answers.ts';
import { text } from '../../contract/payout-request.ts';
import type { PayoutState } from '../../domain/payout.ts';
import { demandAmount, demandApplication } from './callers.ts';
import type { Engine } from './engine.ts';
import { unlessEnded } from './explained.ts';
import { noBody, type Operation, ofApp, ofPayout, operation } from './operation.ts';
import { Problem } from './problem.ts';

const note = z.strictObject({ note: text().optional() }).optional();
const cancellation = z.strictObject({ reason: text().optional() }).optional();
const resolution = z.discriminatedUnion('created', [
  z.strictObject({ created: z.literal(true), orderId: text(128) }),
  z.strictObject({ created: z.literal(false), then: z.enum(['end', 'retry']) }),
]);

type DecisionVerb = Extract<Verb, 'approve' | 'refuse' | 'cancel' | 'resolve' | 'poll'>;

const SUMMARIES: Record<DecisionVerb, string> = {
  approve: 'Approve a payout that waits for it. Whoever started it cannot',
  refuse: 'Refuse a payout that waits for approval: it ends without an order',
  cancel: 'Cancel a payout, which is refused once its creation has begun',
  resolve: 'Tell a payout in review whether its order exists',
  poll: 'Let a payout ask the payments service now',
};

export function decisionOperations(engine: Engine): Operation[] {
  const { payouts } = engine;
  return [
    decision(engine, 'approve', note, (ref, by, said) => payouts.approve(ref, { by, ...said })),
    decision(engine, 'refuse', note, (ref, by, said) => payouts.refuse(ref, { by, ...said })),
    decision(engine, 'cancel', cancellation, (ref, by, said) => payouts.cancel(ref, { by, ...said })),
    decision(engine, 'resolve', resolution, (ref, by, said) => payouts.resolve(ref, { ...said, by })),
    decision(engine, 'poll', noBody, (ref) => payouts.poll(ref)),
  ];
}

function decision<B extends z.ZodType>(
  engine: Engine,
  verb: DecisionVerb,
  body: B,
  send: (ref: PayoutRef, by: string, said: z.output<B>) => Promise<PayoutState>,
): Operation {
  return operation(
    {
      method: 'POST',
      path: `/v1/payouts/{partnerOrderId}/${verb}`,
      verb,
      summary: SUMMARIES[verb],
      answer: { status: 200, description: 'Taken; where the payout stands now', schema: payoutStateSchema },
      problems: { 404: 'no such payout', 409: 'not accepted now; the detail says why' },
    },
    { params: ofPayout, query: ofApp, body },
    async ({ caller, params, query, body: said }) => {
      demandApplication(caller, query.app);
      const ref = { ...params, ...query };
      const start = await engine.soon(() => engine.payouts.startDetails(ref));
      demandMayDecide(caller, verb, start);
      return engine.patiently(() => unlessEnded('payout', () => send(ref, caller.name, said)));
    },
  );
}

function demandMayDecide(caller: Caller, verb: DecisionVerb, { request, startedBy }: PayoutStart): void {
  // These two can make money move, so the caller's own limit holds for them as for a start.
  if (verb === 'approve' || verb === 'resolve') demandAmount(caller, request.instructedAmount);
  if (verb === 'approve' && startedBy === caller.name)
    throw new Problem(403, 'who started a payout cannot approve it');
}
