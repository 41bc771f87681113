/** `/desk`: what waits for an approver or operator, and the stop switch of each application. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { appName, text } from '../contract/fields.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { isStarter } from '../domain/permissions.ts';
import { MAX_REASON_LENGTH } from '../domain/rate-limit.ts';
import { may } from '../service/permissions.ts';
import { valid } from '../service/requests.ts';
import { ATTENTION_HEAD, attentionRows, type RowPage } from './attention.ts';
import { allButton } from './confirm.ts';
import { type Desk, filledIn, getPage, PAYOUTS_PER_PAGE, postForm, redirectWith } from './context.ts';
import { INBOX, INBOX_SECTIONS, type InboxSection } from './counts.ts';
import { mayDecide } from './decisions.ts';
import {
  beneficiaryOf,
  empty,
  type Html,
  hidden,
  html,
  link,
  money,
  noteField,
  payoutLink,
  sentence,
  table,
  time,
  totals,
} from './html.ts';
import type { Visit } from './identity.ts';
import { paymentsOf } from './layout.ts';
import type { ReadPayout } from './picks.ts';
import { recentPayouts } from './similar.ts';
import { choiceOf, counted, decisionBar, targetOf, termsTable } from './terms.ts';
import { decidableOf, type Narrowed, narrowedIn, readWaiting, waitingIn, within } from './waiting.ts';

export function inboxRoutes(scope: FastifyInstance, desk: Desk): void {
  pauseRoutes(scope, desk);
  getPage(scope, desk, '/', async (visit, query) => {
    const cursors = filledIn(query, ...INBOX_SECTIONS);
    const narrowed = narrowedIn(query);
    const nowMs = desk.runtime.clock.wallMs();
    const [approvals, reviews, attention, recent] = await Promise.all([
      waitingPage(desk, visit, 'approvals', { after: cursors.approvals, narrowed }),
      waitingPage(desk, visit, 'reviews', { after: cursors.reviews }),
      attentionRows(desk, visit, cursors.attention),
      recentPayouts(desk, visit.caller),
    ]);
    const none =
      narrowed.batch === undefined
        ? 'No payout awaits approval'
        : html`No payout of batch <bdi>${narrowed.batch}</bdi> awaits approval`;
    return {
      title: 'Inbox',
      section: 'Inbox',
      content: html`${section('approvals', none, approvals, { above: html`${batchTabs(approvals, narrowed)}`, beside: reviewAll(visit, approvals, narrowed), list: () => approvalList(visit, approvals, { nowMs, recent, narrowed }), narrowed })}
${section('reviews', 'No payout is in review', reviews, { list: () => reviewList(reviews) })}
${section('attention', 'Nothing else needs attention', attention, {
  list: () =>
    table({
      caption: 'Payouts, tokens, endpoints and workflows',
      kind: 'flagged',
      head: ATTENTION_HEAD,
      rows: attention.shown,
    }),
})}${pauseForms(visit)}`,
    };
  });
}

interface WaitingPage extends RowPage<ReadPayout> {
  /** Those that the visitor may see, as lists know them. */
  listed: readonly ListedPayout[];
  /** All of the section, of whatever batch. */
  everything: readonly ListedPayout[];
  /** `113`, or `1,000+`. */
  total: string;
  decidable: number;
}

async function waitingPage(
  desk: Desk,
  visit: Visit,
  name: 'approvals' | 'reviews',
  { after, narrowed = {} }: { after?: string | undefined; narrowed?: Narrowed },
): Promise<WaitingPage> {
  const { listed: all, isCut } = await waitingIn(desk, visit, name);
  const listed = within(all, narrowed);
  const { shown, unread, gone, nextCursor } = await readWaiting(desk, visit, name, {
    ...{ listed, after },
    most: PAYOUTS_PER_PAGE,
  });
  return {
    shown,
    unread: unread.map((id) => html`<a href="${payoutLink(id, 'inbox')}">${id.partnerOrderId}</a>`),
    nextCursor,
    listed,
    everything: all,
    total: `${(listed.length - gone).toLocaleString('en-US')}${isCut ? '+' : ''}`,
    decidable: decidableOf(visit, listed).length,
  };
}

interface SectionParts {
  list: () => Html;
  above?: Html;
  beside?: Html | undefined;
  narrowed?: Narrowed;
}

function section(
  id: InboxSection,
  none: unknown,
  { shown, unread, nextCursor }: RowPage<unknown>,
  { list, above, beside, narrowed = {} }: SectionParts,
): Html {
  return html`<section aria-labelledby="${id}"><div class="title"><h2 id="${id}">${INBOX[id].title}</h2>${beside}</div>${above}
${shown.length > 0 ? list() : unread.length === 0 && empty(none, nextCursor !== undefined && 'on this page')}
${
  unread.length > 0 &&
  html`<div class="warning"><p>These could not be read now, because Temporal or a worker does not respond:</p><ul>${unread.map((one) => html`<li>${one}</li>`)}</ul></div>`
}
${nextCursor !== undefined && html`<p><a class="button plain" href="${link('/desk', { ...narrowed, [id]: nextCursor })}#${id}">Show more</a></p>`}</section>`;
}

const MOST_TABS = 10;

/** Narrows the list to one batch. Undefined if no batch waits. */
function batchTabs({ everything }: WaitingPage, narrowed: Narrowed): Html | undefined {
  const batches = new Map<string, Required<Narrowed> & { count: number }>();
  for (const { app, batch } of everything) {
    if (batch === undefined) continue;
    const known = batches.get(`${app}/${batch}`);
    if (known) known.count += 1;
    else batches.set(`${app}/${batch}`, { app, batch, count: 1 });
  }
  if (batches.size === 0 && narrowed.batch === undefined) return undefined;
  const tab = (name: unknown, query: Narrowed, isHere: boolean) =>
    html`<li><a href="${link('/desk', { ...query })}#approvals"${isHere && html` aria-current="true"`}>${name}</a></li>`;
  return html`<ul class="tabs" aria-label="Batches">${tab('All', {}, narrowed.batch === undefined)}${Array.from(
    batches.values(),
  )
    .slice(0, MOST_TABS)
    .map(({ app, batch, count }) =>
      tab(
        html`<bdi>${batch}</bdi> ${count}`,
        { batch, app },
        batch === narrowed.batch && app === narrowed.app,
      ),
    )}</ul>`;
}

/** Undefined if there is nothing that a page of its own would add to. */
function reviewAll({ caller }: Visit, { decidable }: WaitingPage, narrowed: Narrowed): Html | undefined {
  if (decidable < 2 || !may(caller, 'approve')) return undefined;
  return allButton(decidable, narrowed, 'plain');
}

/** `20 of 113 payouts, oldest first. These 20: 42,390.00 CNY` */
function captionOf({ shown, total }: WaitingPage, order = 'oldest first'): Html {
  const count = shown.length;
  const sums = totals(shown.map(targetOf));
  if (total === String(count)) return html`${counted(count)}, ${order}: ${sums}`;
  return html`${count} of ${total} payouts, ${order}. These ${count}: ${sums}`;
}

/** Each checkbox names the quote of its row: a decision about the row applies to no other one. Own payouts come last. */
function approvalList(
  visit: Visit,
  page: WaitingPage,
  { narrowed, ...beside }: { nowMs: number; recent: readonly ListedPayout[]; narrowed: Narrowed },
): Html {
  const { shown, listed } = page;
  const decidable = shown.filter((one) => mayDecide(visit, one));
  const others = shown.filter((one) => !decidable.includes(one));
  const choice = (one: ReadPayout) => decidable.includes(one) && choiceOf(one, decidable.indexOf(one));
  const own = listed.filter(({ startedBy }) => isStarter(visit.caller, startedBy)).length;
  return html`${own > 0 && html`<p class="faint">You or your key started ${own} of ${listed.length}: someone else has to approve ${own === 1 ? 'it' : 'them'}.</p>`}
<form class="chooses">${hidden({ ...narrowed })}${termsTable([...decidable, ...others], { ...beside, choice, caption: captionOf(page), areOfOneBatch: narrowed.batch !== undefined })}${decidable.length > 0 && decisionBar(visit)}</form>`;
}

function reviewList(page: WaitingPage): Html {
  return table({
    caption: captionOf(page),
    sorts: true,
    kind: 'reviews',
    head: ['Payout', 'Beneficiary', 'Amount#', 'What to decide', 'Sent#', 'Provider last asked', 'Action#'],
    rows: page.shown.map(({ request, state, ...id }) => [
      html`<a href="${payoutLink(id, 'inbox')}">${id.partnerOrderId}</a>`,
      beneficiaryOf(request.receiver),
      money(request.instructedAmount),
      sentence(state.sentence),
      state.sends,
      time(state.lastAskedAt),
      html`<a class="button plain" href="${payoutLink(id, 'inbox')}#review">Review <span class="visually-hidden">${id.partnerOrderId}</span></a>`,
    ]),
  });
}

/** One form for each application that is not paused. Undefined if there is none, or the caller may not pause. */
function pauseForms({ caller, formToken, pauses = [] }: Visit): Html | undefined {
  const running = pauses.filter(({ paused }) => !paused);
  if (running.length === 0 || !may(caller, 'pause')) return undefined;
  return html`<details><summary>Stop all new payments</summary>
<p>While an application is paused, no order and no receiving account is created. Queries continue.</p>
${running.map(
  ({ app }) => html`<div class="card"><form method="post" action="/desk/pause">${hidden({ formToken, app })}
${noteField(`pause-${app}`, 'reason', `Reason to pause ${app === 'default' ? 'payments' : app}`, { maxLength: MAX_REASON_LENGTH })}
<div class="buttons"><button class="danger">Pause ${paymentsOf(app, 'payments')}</button></div></form></div>`,
)}</details>`;
}

const pauseForm = z.object({
  app: appName,
  reason: text(MAX_REASON_LENGTH).optional(),
  pausedAt: z.string().optional(),
});

function pauseRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const done of ['pause', 'resume'] as const)
    postForm(scope, desk, { path: `/${done}`, verb: 'pause' }, async ({ caller }, fields, reply) => {
      const { app, reason, pausedAt } = valid(pauseForm, filledIn(fields, 'app', 'reason', 'pausedAt'));
      if (done === 'pause') await desk.service.pause(caller, app, { reason });
      else await desk.service.resume(caller, app, pausedAt ?? '');
      return redirectWith(reply, '/desk', {
        done,
        id: app === 'default' ? 'payments' : `payments of ${app}`,
      });
    });
}
