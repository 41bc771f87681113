/** The table of payouts that await a decision, with the terms to which it applies, and the bar that decides the chosen ones. */
import type { ListedPayout } from '../contract/lists.ts';
import { HOUR_MS } from '../domain/time.ts';
import { may } from '../service/permissions.ts';
import {
  beneficiaryOf,
  duration,
  type Html,
  html,
  link,
  lockLeft,
  money,
  payoutLink,
  pill,
  table,
  time,
  totals,
} from './html.ts';
import type { Visit } from './identity.ts';
import { pickOf, type ReadPayout } from './picks.ts';
import { similarTo } from './similar.ts';

export type Verb = 'approve' | 'refuse';
/** The words and the class of the button of each decision about several payouts. */
export const ACTS = {
  approve: ['Approve', 'Approved', undefined],
  refuse: ['Refuse', 'Refused', 'danger'],
} as const;

export const targetOf = ({ request, state }: Pick<ReadPayout, 'request' | 'state'>) =>
  state.quote?.target ?? request.instructedAmount;

export function choiceOf(one: ReadPayout, at: number): Html {
  const { currency, amount } = targetOf(one);
  return html`<label class="tap"><input type="checkbox" name="${`pick-${at}`}" value="${pickOf(one)}" aria-label="Choose ${one.partnerOrderId}" data-amount="${amount}" data-currency="${currency}"></label>`;
}

export const confirmPath = (verb: Verb) => `/desk/payouts/confirm-${verb}`;

export const counted = (count: number) => `${count} ${count === 1 ? 'payout' : 'payouts'}`;

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
  caption?: Html;
  /** Whether all are of one batch, which the page names. */
  areOfOneBatch: boolean;
  /** A checkbox with the name and the pick of each row. */
  choice?: (one: ReadPayout) => Html | false;
}

/** Payouts that await a decision, with the terms to which it applies. */
export function termsTable(
  payouts: readonly ReadPayout[],
  { nowMs, recent, caption, areOfOneBatch, choice = () => false }: ShownBeside,
): Html {
  const areOfBatches = !areOfOneBatch && payouts.some(({ batch }) => batch !== undefined);
  return table({
    caption: caption ?? html`${counted(payouts.length)}: ${totals(payouts.map(targetOf))}`,
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
      ...(areOfBatches ? ['Batch'] : []),
    ],
    rows: payouts.map((one) => {
      const { request, startedBy, state, app, batch } = one;
      return [
        html`<span class="choice">${choice(one)}<span><a href="${payoutLink(one, 'inbox')}">${one.partnerOrderId}</a>${state.reasons.map(({ code }) => html` ${pill(code, 'bad')}`)}${similarTo(recent, one).length > 0 && html` ${pill('POSSIBLE_DUPLICATE', 'warn')}`}</span></span>`,
        beneficiaryOf(request.receiver),
        money(targetOf(one)),
        money(state.quote?.pay),
        money(state.quote?.fee),
        lockLeft(state.lockExpiresAt, nowMs),
        waiting(one, nowMs),
        startedBy ?? 'not recorded',
        ...(areOfBatches
          ? [
              batch !== undefined &&
                html`<a href="${link('/desk/batch', { app, batchId: batch })}">${batch}</a>`,
            ]
          : []),
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
