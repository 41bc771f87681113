/** `/desk/receiving-account`: a request for a receiving account, and its review. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { storedReceivingAccountStateSchema } from '../contract/receiving-account.ts';
import { may } from './acting.ts';
import { type Desk, type Fields, filledIn, getPage, postForm, redirectWith, takeNotice } from './context.ts';
import { attentionReasons, facts, type Html, hidden, html, label, link, time } from './html.ts';
import type { Visit } from './identity.ts';
import { sendPage } from './layout.ts';

const answer = z.object({ state: storedReceivingAccountStateSchema });
type State = z.output<typeof answer>['state'];

interface RequestId {
  app: string;
  requestId: string;
}

export function accountRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/receiving-account', async (visit, request, reply, query) => {
    const { app = 'default', requestId = '' } = filledIn(query, 'app', 'requestId');
    const { state } = answer.parse(
      await desk.acting.run(visit.caller, 'GET /v1/receiving-accounts/{requestId}', {
        params: { requestId },
        query: { app },
      }),
    );
    const isReviewed = state.phase === 'NEEDS_REVIEW' && may(visit.caller, 'resolve');
    return sendPage(reply, {
      ...{ title: `Receiving account request ${requestId}`, visit, notice: takeNotice(request) },
      content: html`<div class="sides"><div>${evidence(state)}</div>${
        isReviewed &&
        html`<section class="card" aria-labelledby="review"><h2 id="review">Review</h2>${reviewForm(visit, { app, requestId }, state)}</section>`
      }</div>`,
    });
  });

  postForm(
    scope,
    desk,
    { path: '/receiving-account/resolve', verb: 'resolve' },
    async (visit, _request, reply, fields) => {
      const { app = '', requestId = '' } = fields;
      await desk.acting.run(visit.caller, 'POST /v1/receiving-accounts/{requestId}/resolve', {
        params: { requestId },
        query: { app },
        body: resolution(fields),
      });
      const next = link('/desk/receiving-account', { app, requestId });
      return redirectWith(reply, next, { done: 'resolve', app, id: requestId, kind: 'request' });
    },
  );
}

function evidence(state: State): Html {
  return html`<p>${state.sentence}</p><p class="faint">Next step: ${state.nextStep}</p>
${facts([
  ['Phase', label(state.phase)],
  ['Outcome', state.outcome && label(state.outcome)],
  ['Payer', state.payerId],
  ['Currency', state.currency],
  ['Account', state.accountId],
  ['Requests sent', state.sends],
  ['New accounts of this payer and currency', state.candidates?.join(', ')],
  ['Provider last asked', time(state.lastAskedAt)],
])}${state.needsAttention && attentionReasons('opening', state.reasons)}`;
}

function reviewForm({ formToken }: Visit, id: RequestId, { sends, candidates = [] }: State): Html {
  const fields = { formToken, ...id, sends: sends?.toString(), candidates: candidates.join(' ') };
  return html`<form method="post" action="/desk/receiving-account/resolve">${hidden(fields)}
<fieldset><legend>Did the provider open the account?</legend>
<label class="choice"><input type="radio" name="decision" value="created" required> Yes, it is this account:</label>
<label for="accountId">Account id</label>
<input id="accountId" name="accountId" maxlength="64" autocomplete="off">
<label class="choice"><input type="radio" name="decision" value="end" required> No. End the request.</label>
<label class="choice"><input type="radio" name="decision" value="retry" required> No. Send the request again.</label>
</fieldset><div class="buttons"><button>Resolve</button></div></form>`;
}

function resolution(fields: Fields): object {
  const { decision, accountId, sends, candidates } = filledIn(
    fields,
    ...(['decision', 'accountId', 'sends', 'candidates'] as const),
  );
  if (decision === 'created') return { created: true, ...(accountId !== undefined && { accountId }) };
  return {
    ...{ created: false, then: decision },
    ...(sends !== undefined && { sends: Number(sends) }),
    candidates: candidates === undefined ? [] : candidates.split(' '),
  };
}
