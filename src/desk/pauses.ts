/** The stop switch of an application: the banner on every page, the form that pauses, and what the forms do. */
import type { FastifyInstance } from 'fastify';
import { MAX_REASON_LENGTH } from '../domain/rate-limit.ts';
import { may } from './acting.ts';
import { type Desk, postForm } from './context.ts';
import { filledIn } from './forms.ts';
import { type Html, hidden, html, time } from './html.ts';
import type { Visit } from './identity.ts';
import { redirectWith } from './notices.ts';

export function pauseBanners({ caller, formToken, pauses }: Visit): Html {
  if (pauses === undefined)
    return html`<p class="warning" role="status">Whether an application is paused cannot be read now.</p>`;
  const paused = pauses.flatMap(({ app, paused: pause }) => (pause ? [{ app, ...pause }] : []));
  return html`${paused.map(
    ({ app, by, at, reason }) =>
      html`<div class="warning" role="status"><p>Application ${app} is paused: no create call is sent. ${by} paused it at ${time(at)}${reason !== undefined && html`: ${reason}`}.</p>${
        may(caller, 'pause') &&
        html`<form method="post" action="/desk/resume">${hidden({ formToken, app })}<button class="plain">Resume ${app}</button></form>`
      }</div>`,
  )}`;
}

/** For each application that is not paused. Undefined if there is none, or the person may not pause. */
export function pauseForms({ caller, formToken, pauses = [] }: Visit): Html | undefined {
  const running = pauses.filter(({ paused }) => !paused);
  if (running.length === 0 || !may(caller, 'pause')) return undefined;
  return html`<section aria-labelledby="pause"><h2 id="pause">Stop all create calls</h2>
<p>While an application is paused, no order and no receiving account is created. Queries continue.</p>
<ul class="cards">${running.map(
    ({ app }) => html`<li class="card"><form method="post" action="/desk/pause">${hidden({ formToken, app })}
<label for="pause-${app}">Reason to pause ${app} <span class="faint">(optional)</span></label>
<input id="pause-${app}" name="reason" maxlength="${MAX_REASON_LENGTH}" autocomplete="off">
<div class="buttons"><button class="danger">Pause ${app}</button></div></form></li>`,
  )}</ul></section>`;
}

export function pauseRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const done of ['pause', 'resume'] as const)
    postForm(
      scope,
      desk,
      { path: `/${done}`, verb: 'pause' },
      async ({ caller }, _request, reply, fields) => {
        const { app = '' } = fields;
        await desk.acting.run(caller, `POST /v1/applications/{app}/${done}`, {
          params: { app },
          body: done === 'pause' ? filledIn(fields, 'reason') : undefined,
        });
        return redirectWith(reply, '/desk', { done, app, id: app, kind: 'application' });
      },
    );
}
