/** One decision about a payout, from its page: leads back to the page, or shows it again with the reason why not. */
import type { FastifyInstance } from 'fastify';
import type { PayoutState } from '../contract/payout.ts';
import type { ProblemKind } from '../contract/problems.ts';
import { invalidFields } from '../service/problem.ts';
import { DECISION_VERBS, type DecisionVerb, payoutId } from '../service/requests.ts';
import {
  type Desk,
  type Done,
  type Fields,
  filledIn,
  idIn,
  pageVisit,
  postForm,
  redirectWith,
} from './context.ts';
import { type Attempt, DECISION_FIELDS, decidedBy, fieldErrors, requireTerms } from './decisions.ts';
import { type Html, html, payoutLink, sentence, time } from './html.ts';
import { sendPage } from './layout.ts';
import { openedFrom, payoutPage } from './story.ts';

export function decideRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const verb of DECISION_VERBS)
    postForm(scope, desk, { path: `/payouts/${verb}`, verb }, async ({ caller }, fields, reply) => {
      const id = idIn(payoutId, fields);
      try {
        await desk.service.decide(caller, verb, id, bodyOf(verb, fields));
      } catch (error) {
        const problem = desk.toProblem(error, reply.request);
        const visit = await pageVisit(desk, reply.request);
        const attempt = { verb, fields, problem };
        const page = await payoutPage(desk, visit, id, { from: openedFrom(fields), attempt, whyNot }).catch(
          () => undefined,
        );
        if (!page) throw problem;
        return sendPage(reply, { ...page, visit }, problem.status);
      }
      const back = fields['back'] === 'inbox' ? '/desk#attention' : payoutLink(id, openedFrom(fields));
      return redirectWith(reply, back, {
        done: verb === 'resolve' ? (RESOLVED[fields['decision'] ?? ''] ?? verb) : verb,
        id: id.partnerOrderId,
      });
    });
}

/** The notice after each answer in a review. */
const RESOLVED: Readonly<Record<string, Done>> = {
  created: 'track',
  end: 'close',
  retry: 'send-again',
};

const NOT_DONE = {
  ...{ approve: 'approve it', refuse: 'refuse it', cancel: 'cancel it', resolve: 'resolve the review' },
  ...{ acknowledge: 'acknowledge the flags', poll: 'query the provider' },
} as const satisfies Record<DecisionVerb, string>;

const DONE = { approve: 'approved', refuse: 'refused', cancel: 'canceled', resolve: 'resolved' } as const;

/** Errors of ours after which nothing has happened. */
const NOTHING_DONE: readonly ProblemKind[] = ['no-worker', 'too-many-waiting'];

/** `state`: after the attempt. */
function whyNot(attempt: Attempt, state: PayoutState): Html {
  const { verb, problem } = attempt;
  if (problem.status >= 500 && !NOTHING_DONE.includes(problem.kind))
    return html`It's unknown whether your decision was accepted: ${problem.message}. This page shows the payout as it is now.`;
  return html`You didn't ${NOT_DONE[verb]}: ${reasonOf(attempt, state)}`;
}

function reasonOf({ verb, fields, problem }: Attempt, state: PayoutState): Html {
  const { phase, quote, decisions = [] } = state;
  const isApproval = verb === 'approve' || verb === 'refuse';
  const made = isApproval
    ? decidedBy(state, fields['lockRateId'])
    : decisions.findLast(({ action }) => action === verb || (verb === 'cancel' && action === 'refuse'));
  const isOpen = phase === 'NEEDS_REVIEW' && verb === 'resolve';
  if (made && !isOpen)
    return html`it was already ${DONE[made.action]} by ${made.by}, ${time(made.at, 'brief')}.`;
  const errors = [...fieldErrors(problem).values()];
  if (errors.length > 0) return html`${errors.join(' ').replace(/^[A-Z]/, (first) => first.toLowerCase())}`;
  if (isApproval && quote && fields['lockRateId'] !== quote.lockRateId)
    return html`its quote has changed. Read the new one, then decide again.`;
  if (problem.message.startsWith('sends: '))
    return html`the payment was sent again in the meantime. Read the evidence, then decide again.`;
  if (problem.message.startsWith('readAt: '))
    return html`the follow-up has found more than you saw. Read it, then acknowledge again.`;
  return phase === 'DONE' ? html`it has finished. ${sentence(state.sentence)}` : html`${problem.message}.`;
}

function bodyOf(verb: DecisionVerb, fields: Fields): unknown {
  if (verb === 'poll') return undefined;
  requireTerms(verb, fields['lockRateId']);
  return verb === 'resolve' ? resolutionIn(fields) : filledIn(fields, ...DECISION_FIELDS[verb]);
}

function resolutionIn(fields: Fields): unknown {
  const { decision, sends, again, closes, ...ids } = filledIn(
    fields,
    ...['decision', 'orderId', 'tradeOrderId', 'sends', 'again', 'closes'],
  );
  if (decision === 'created') return { created: true, ...ids };
  // The form requires them, too.
  if (decision === 'end' && closes !== 'yes')
    throw invalidFields([{ path: 'closes', message: 'confirm that the payout is closed without paying' }]);
  if (decision === 'retry' && again !== 'yes')
    throw invalidFields([{ path: 'again', message: 'confirm that the payment is sent again' }]);
  return {
    created: false,
    then: decision,
    sends: sends && Number(sends),
    reviewedOrderIds: reviewedIn(fields),
  };
}

/** The orders that the page showed, if the operator states that none of them belongs to the payout. */
function reviewedIn({ noneIsOurs, reviewedOrderIds }: Fields): unknown {
  if (noneIsOurs !== 'yes' || reviewedOrderIds === undefined) return undefined;
  try {
    return JSON.parse(reviewedOrderIds);
  } catch {
    return 'not a list';
  }
}
