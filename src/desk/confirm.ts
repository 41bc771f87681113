/** Decisions about several payouts: their table, the page that repeats the chosen ones, and what became of each. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { PayoutStart } from '../client/payouts.ts';
import type { Caller } from '../config/callers.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { compareMoney, totalsByCurrency } from '../contract/money.ts';
import type { PayoutState } from '../contract/payout.ts';
import { HOUR_MS } from '../domain/time.ts';
import { inParallel } from '../runtime/runtime.ts';
import { may, requireAuthority, requireVerb } from '../service/permissions.ts';
import { invalidFields, Problem } from '../service/problem.ts';
import { decisionBodies, type PayoutId, payoutId, valid } from '../service/requests.ts';
import type { Service } from '../service/service.ts';
import { type Desk, type Fields, filledIn, getPage, postForm } from './context.ts';
import { DECISION_FIELDS, decidedBy, TOLERANCES } from './decisions.ts';
import {
  beneficiaryOf,
  duration,
  facts,
  type Html,
  hidden,
  html,
  link,
  lockLeft,
  money,
  noteField,
  payoutLink,
  pill,
  sentence,
  status,
  table,
  time,
  totals,
} from './html.ts';
import type { Visit } from './identity.ts';
import { recentPayouts, SIMILAR_DAYS, similarTo } from './similar.ts';

type Verb = 'approve' | 'refuse';
/** The words and the class of the button of each decision about several payouts. */
const ACTS = {
  approve: ['Approve', 'Approved', undefined],
  refuse: ['Refuse', 'Refused', 'danger'],
} as const;

export interface ReadPayout extends PayoutId, PayoutStart {
  state: PayoutState;
  /** Its first start, which only lists tell. */
  startedAt?: string;
}

export async function readPayout(service: Service, caller: Caller, id: PayoutId): Promise<ReadPayout> {
  const start = await service.payoutStart(caller, id);
  return { ...id, ...start, state: await service.readStatus(caller, () => service.payouts.state(id)) };
}

export const targetOf = ({ request, state }: Pick<ReadPayout, 'request' | 'state'>) =>
  state.quote?.target ?? request.instructedAmount;

const pick = z.strictObject({ ...payoutId.shape, lockRateId: z.string().optional() });
type Picked = z.output<typeof pick>;

/** Stands for a chosen row: the payout, and the quote that the page shows. */
function pickOf({ app, partnerOrderId, state }: ReadPayout): string {
  return JSON.stringify({ app, partnerOrderId, lockRateId: state.quote?.lockRateId });
}

function picksIn(fields: unknown): Picked[] {
  const texts = Object.entries(fields ?? {}).flatMap(([name, value]) =>
    /^pick-\d+$/.test(name) ? [value] : [],
  );
  if (texts.length === 0) throw invalidFields([{ path: 'payouts', message: 'none is chosen' }]);
  return texts.map((text) => valid(pick, parsed(text)));
}

/** Undefined if it is not JSON. */
function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

export function choiceOf(one: ReadPayout, at: number): Html {
  const { currency, amount } = targetOf(one);
  return html`<label class="tap"><input type="checkbox" name="${`pick-${at}`}" value="${pickOf(one)}" aria-label="Choose ${one.partnerOrderId}" data-amount="${amount}" data-currency="${currency}"></label>`;
}

const confirmPath = (verb: Verb) => `/desk/payouts/confirm-${verb}`;

/** Leads the chosen rows of the form around it to a page that repeats them, before anything is decided. */
export function decisionBar({ caller }: Visit): Html {
  return html`<div class="bulk"><output class="amount">Choose payouts to decide together. You confirm on the next page.</output>
<div class="buttons">${may(caller, 'approve') && html`<button data-key="a" formaction="${confirmPath('approve')}">Approve chosen</button>`}
${may(caller, 'refuse') && html`<button class="danger" data-key="r" formaction="${confirmPath('refuse')}">Refuse chosen</button>`}
</div></div>
<p class="keys faint"><kbd>?</kbd> shows the keys.</p>`;
}

interface ShownBeside {
  nowMs: number;
  recent: readonly ListedPayout[];
  /** A checkbox with the name and the pick of each row. */
  choice?: (one: ReadPayout) => Html | false;
}

/** Payouts that await a decision, with the terms to which it applies. */
export function termsTable(
  payouts: readonly ReadPayout[],
  { nowMs, recent, choice = () => false }: ShownBeside,
): Html {
  return table({
    caption: html`${payouts.length} ${payouts.length === 1 ? 'payout' : 'payouts'}: ${totals(payouts.map(targetOf))}`,
    sorts: true,
    kind: 'terms',
    head: [
      'Payout',
      'Beneficiary',
      'Amount#',
      'Payer pays#',
      'Fee#',
      'Rate locked for',
      'Waiting',
      'Started by',
    ],
    rows: payouts.map((one) => {
      const { request, startedBy, state } = one;
      return [
        html`<span class="choice">${choice(one)}<span><a href="${payoutLink(one, 'inbox')}">${one.partnerOrderId}</a>${state.reasons.map(({ code }) => html` ${pill(code, 'bad')}`)}${similarTo(recent, one).length > 0 && html` ${pill('POSSIBLE_DUPLICATE', 'warn')}`}</span></span>`,
        beneficiaryOf(request.receiver),
        money(targetOf(one)),
        money(state.quote?.pay),
        money(state.quote?.fee),
        lockLeft(state.lockExpiresAt, nowMs),
        waiting(one, nowMs),
        startedBy ?? 'not recorded',
      ];
    }),
  });
}

/** How long it has waited, since its start or since it was due, and until when it can be approved. */
function waiting({ request, startedAt, state }: ReadPayout, nowMs: number): Html {
  const { approvalExpiresAt } = state;
  const until = approvalExpiresAt !== undefined && approveUntil(approvalExpiresAt, nowMs);
  if (startedAt === undefined) return html`${until}`;
  const waitedMs = nowMs - Math.max(Date.parse(startedAt), Date.parse(request.notBefore ?? startedAt));
  const [count, unit] = duration(waitedMs).split(' ');
  return html`<span data-sort="${waitedMs}">${count} ${unit}${until && html`, ${until}`}</span>`;
}

/** Less time than this is marked. */
const SOON_MS = 2 * HOUR_MS;

export function approveUntil(expiresAt: string, nowMs: number): Html {
  return html`<span class="${Date.parse(expiresAt) - nowMs < SOON_MS && 'soon'}">until ${time(expiresAt, 'brief')}</span>`;
}

export function confirmRoutes(scope: FastifyInstance, desk: Desk): void {
  for (const verb of ['approve', 'refuse'] as const) {
    getPage(scope, desk, `/payouts/confirm-${verb}`, async (visit, query, reply) => {
      requireVerb(visit.caller, verb);
      return { section: 'Inbox', ...(await confirmPage(desk, visit, verb, picksIn(query), reply)) };
    });
    chosenRoute(scope, desk, verb);
  }
  getPage(scope, desk, '/payouts/decided', async ({ caller }, query, reply) => {
    const { verb } = valid(decided, filledIn(query, 'verb'));
    const results = await inParallel(picksIn(query), (one) => resultOf(desk, caller, verb, one, reply));
    const failed = results.filter(({ isDone }) => !isDone).length;
    const [, done] = ACTS[verb];
    return {
      title: `${done} ${results.length - failed} of ${results.length}`,
      section: 'Inbox',
      content: html`${failed > 0 && html`<p class="warning" role="alert">You didn't ${verb} ${failed} of ${results.length}. The table says why.</p>`}
${table({ caption: 'Each payout', head: ['Payout', 'Amount#', 'Result', 'What happens now'], rows: results.map(({ cells }) => cells) })}
<p><a class="button" href="/desk">Back to the inbox</a></p>`,
    };
  });
}

const decided = z.object({ verb: z.enum(['approve', 'refuse']) });

/** Repeats the chosen payouts as they are now. Those whose terms are no longer those of the list are left out. */
async function confirmPage(desk: Desk, visit: Visit, verb: Verb, picks: Picked[], reply: FastifyReply) {
  const [recent, chosen] = await Promise.all([
    recentPayouts(desk, visit.caller),
    inParallel(picks, async (one) =>
      asShown(desk, visit.caller, verb, one).catch((error: unknown) => ({
        id: one,
        why: desk.toProblem(error, reply.request).message,
      })),
    ),
  ]);
  const payouts = chosen.filter((one) => 'state' in one);
  const leftOut = chosen.filter((one) => 'why' in one);
  const count = `${payouts.length} ${payouts.length === 1 ? 'payout' : 'payouts'}`;
  return {
    title: payouts.length === 0 ? `Nothing to ${verb}` : `${ACTS[verb][0]} ${count}?`,
    content: html`${duplicates(payouts, recent)}${
      leftOut.length > 0 &&
      html`<div class="warning" role="alert"><p>Left out:</p><ul>${leftOut.map(({ id, why }) => html`<li><a href="${payoutLink(id, 'inbox')}">${id.partnerOrderId}</a>: ${why}.</li>`)}</ul></div>`
    }${payouts.length > 0 && html`${sumsOf(payouts)}${confirmForm(visit, verb, payouts, count)}${termsTable(payouts, { recent, nowMs: desk.runtime.clock.wallMs() })}`}
<p><a class="button plain" href="/desk">Back to the inbox</a></p>`,
  };
}

/** The payout, if its quote is still the one that was chosen and the caller may decide. Otherwise why it is left out. */
async function asShown(
  { service }: Desk,
  caller: Caller,
  verb: Verb,
  { lockRateId, ...id }: Picked,
): Promise<ReadPayout | { id: PayoutId; why: string }> {
  const payout = await readPayout(service, caller, id);
  requireAuthority(caller, verb, payout);
  const { phase, quote } = payout.state;
  if (phase !== 'AWAITING_APPROVAL') return { id, why: 'it does not wait for approval any more' };
  if (quote?.lockRateId !== lockRateId) return { id, why: 'its quote has changed: choose it again' };
  return payout;
}

function duplicates(payouts: readonly ReadPayout[], recent: readonly ListedPayout[]): Html | undefined {
  const found = payouts.flatMap((one) => {
    const similar = similarTo(recent, one);
    return similar.length > 0 ? [{ one, similar }] : [];
  });
  if (found.length === 0) return undefined;
  return html`<div class="warning" role="alert"><p>Possible duplicates: the same beneficiary got, or is to get, the same amount in the last ${SIMILAR_DAYS} days.</p>
<ul>${found.map(
    ({ one, similar }) =>
      html`<li><a href="${payoutLink(one, 'inbox')}">${one.partnerOrderId}</a>, ${money(targetOf(one))}: like ${similar.map((other, at) => html`${at > 0 && ', '}<a href="${payoutLink(other, 'inbox')}">${other.partnerOrderId}</a>`)}</li>`,
  )}</ul></div>`;
}

function sumsOf(payouts: readonly ReadPayout[]): Html {
  const targets = payouts.map(targetOf);
  const largest = totalsByCurrency(targets).map(({ currency }) =>
    payouts
      .filter((one) => targetOf(one).currency === currency)
      .reduce((most, one) => (compareMoney(targetOf(one), targetOf(most)) > 0 ? one : most)),
  );
  return html`<p class="headline">${totals(targets)}</p>${facts([
    ['Payouts', String(payouts.length)],
    [
      'Largest amount',
      html`${largest.map((one, at) => html`${at > 0 && ', '}${money(targetOf(one))} to ${beneficiaryOf(one.request.receiver)}`)}`,
    ],
    ['Payers pay', totals(payouts.flatMap(({ state }) => state.quote?.pay ?? []))],
    ['Fees', totals(payouts.flatMap(({ state }) => state.quote?.fee ?? []))],
  ])}`;
}

function confirmForm({ formToken }: Visit, verb: Verb, payouts: readonly ReadPayout[], count: string): Html {
  const picks = Object.fromEntries(payouts.map((one, at) => [`pick-${at}`, pickOf(one)]));
  const [act, , kind] = ACTS[verb];
  return html`<form method="post" action="/desk/payouts/${verb}-chosen" class="bulk">${hidden({ formToken, ...picks })}
<div>${noteField('note', 'note', 'Note')}</div>
${
  verb === 'approve' &&
  html`<div><label for="tolerance">After a lock expires, approve a quote</label><select id="tolerance" name="tolerance"><option value="">no worse than shown</option>${TOLERANCES.map(
    (percent) => html`<option value="${percent}">up to ${percent} % worse</option>`,
  )}</select></div>`
}
<div class="buttons"><button class="${kind}">${act} ${count}</button></div></form>`;
}

/** One decision after another, each recorded by itself. The page after it reads what became of each from the payouts. */
function chosenRoute(scope: FastifyInstance, desk: Desk, verb: Verb): void {
  const path = `/payouts/${verb}-chosen`;
  postForm(scope, desk, { path, verb }, async ({ caller }, fields, reply) => {
    const body = filledIn(fields, ...DECISION_FIELDS[verb]);
    valid(decisionBodies[verb], body);
    await inParallel(picksIn(fields), async ({ lockRateId, ...id }) => {
      const result = await desk.service
        .decide(caller, verb, id, { ...body, ...(lockRateId !== undefined && { lockRateId }) })
        .catch((error: unknown) => desk.toProblem(error, reply.request));
      const status = result instanceof Problem ? result.status : 303;
      desk.audit.record({ method: 'POST', path: `/desk${path}`, verb }, reply.request, status, id);
    });
    return reply.redirect(link('/desk/payouts/decided', { verb, ...pickedFields(fields) }), 303);
  });
}

const pickedFields = (fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => name.startsWith('pick-')));

/** The amount, who decided what, and what happens now, or why it is not decided. */
async function resultOf(
  desk: Desk,
  caller: Caller,
  verb: Verb,
  { lockRateId, ...id }: Picked,
  { request }: FastifyReply,
): Promise<{ isDone: boolean; cells: unknown[] }> {
  const name = html`<a href="${payoutLink(id, 'inbox')}">${id.partnerOrderId}</a>`;
  const not = pill(`NOT_${ACTS[verb][1].toUpperCase()}`, 'bad');
  let payout: ReadPayout | undefined;
  try {
    payout = await readPayout(desk.service, caller, id);
    const { state } = payout;
    const amount = money(targetOf(payout));
    const made = decidedBy(state, lockRateId);
    const now = sentence(state.sentence);
    if (!made && state.phase !== 'AWAITING_APPROVAL')
      return { isDone: false, cells: [name, amount, status(state), now] };
    if (!made) {
      const shown = await asShown(desk, caller, verb, { lockRateId, ...id });
      const why = 'why' in shown ? shown.why : 'it still waits for approval: open it to decide';
      return { isDone: false, cells: [name, amount, not, `${why}.`] };
    }
    const isDone = made.by === caller.name && made.action === verb;
    const what = html`${pill(DECIDED[made.action], isDone ? 'good' : 'warn')} by ${made.by}, ${time(made.at, 'brief')}`;
    return { isDone, cells: [name, amount, what, now] };
  } catch (error) {
    const { message } = desk.toProblem(error, request);
    return { isDone: false, cells: [name, payout && money(targetOf(payout)), not, message] };
  }
}

const DECIDED = { approve: 'APPROVED', refuse: 'REFUSED', cancel: 'CANCELED', resolve: 'RESOLVED' } as const;
