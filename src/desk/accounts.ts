/** `/desk/receiving-account`: a request for a receiving account, and its review. */
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import type { ReceivingAccountState } from '../contract/receiving-account.ts';
import { may } from '../service/permissions.ts';
import { type OpeningId, openingId, openingResolution, valid } from '../service/requests.ts';
import { type Desk, type Fields, filledIn, getPage, idIn, postForm, redirectWith } from './context.ts';
import { attentionReasons, facts, type Html, hidden, html, label, link, time } from './html.ts';
import type { Visit } from './identity.ts';

export function accountRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/receiving-account', async (visit, query) => {
    const id = idIn(openingId, query);
    const { state } = await desk.service.receivingAccount(visit.caller, id);
    const isReviewed = state.phase === 'NEEDS_REVIEW' && may(visit.caller, 'resolve');
    return {
      title: `Receiving account request ${id.requestId}`,
      content: html`<div class="sides"><div>${evidence(state)}</div>${
        isReviewed &&
        html`<section class="card" aria-labelledby="review"><h2 id="review">Review</h2>${reviewForm(visit, id, state)}</section>`
      }</div>`,
    };
  });

  postForm(
    scope,
    desk,
    { path: '/receiving-account/resolve', verb: 'resolve' },
    async (visit, fields, reply) => {
      const id = idIn(openingId, fields);
      await desk.service.resolveReceivingAccount(visit.caller, id, resolutionIn(fields));
      const notice = { done: 'resolve', id: id.requestId } as const;
      return redirectWith(reply, link('/desk/receiving-account', id), notice);
    },
  );
}

function evidence(state: ReceivingAccountState): Html {
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
])}${state.needsAttention && attentionReasons('receivingAccount', state.reasons)}`;
}

function reviewForm(
  { formToken }: Visit,
  id: OpeningId,
  { sends, candidates = [] }: ReceivingAccountState,
): Html {
  const fields = { formToken, ...id, sends: sends?.toString(), candidates: candidates.join(' ') };
  return html`<form method="post" action="/desk/receiving-account/resolve">${hidden(fields)}
<fieldset><legend>Did the provider open the account?</legend>
<label class="choice"><input type="radio" name="decision" value="created" required> Yes, it is this account:</label>
<label for="accountId">Account ID</label>
<input id="accountId" name="accountId" maxlength="64" autocomplete="off">
<label class="choice"><input type="radio" name="decision" value="end" required> No. End the request.</label>
<label class="choice"><input type="radio" name="decision" value="retry" required> No. Send the request again.</label>
</fieldset><div class="buttons"><button>Resolve</button></div></form>`;
}

function resolutionIn(fields: Fields): z.output<typeof openingResolution> {
  const { decision, accountId, sends, candidates } = filledIn(
    fields,
    'decision',
    'accountId',
    'sends',
    'candidates',
  );
  if (decision === 'created') return valid(openingResolution, { created: true, accountId });
  return valid(openingResolution, {
    created: false,
    then: decision,
    sends: sends && Number(sends),
    candidates: candidates === undefined ? [] : candidates.split(' '),
  });
}
