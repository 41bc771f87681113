/** `/desk/today`: the payouts of the day, the use of the rate limit and the tokens, as tables with bars. */
import type { FastifyInstance } from 'fastify';
import { SharedReads, unlimitedReads } from '../client/shared-reads.ts';
import { OUTCOMES } from '../contract/codes.ts';
import { totalsByCurrency } from '../contract/money.ts';
import { isScoped } from '../domain/permissions.ts';
import { movedMoney } from '../domain/reconciliation.ts';
import { DAY_MS, HOUR_MS } from '../domain/time.ts';
import { applicationsWithin } from '../service/permissions.ts';
import { type Desk, getPage } from './context.ts';
import { type Html, html, label, money, table, time } from './html.ts';
import { type EndedPayout, type Figures, figuresOf, MAX_RESULTS } from './today-figures.ts';

/** All reloads in this time share one reading. */
const FRESH_MS = 15_000;

export function todayRoutes(scope: FastifyInstance, desk: Desk): void {
  const reads = new SharedReads<Figures>({
    ...unlimitedReads(),
    freshMs: FRESH_MS,
    clock: desk.runtime.clock,
  });

  getPage(scope, desk, '/today', async (visit) => {
    const frame = { title: 'Today', section: 'Today' } as const;
    if (isScoped(visit.caller))
      return {
        ...frame,
        content: html`<p class="warning">Your key is limited to clients, payers or users: the figures cover all of them.</p>`,
      };
    const apps = applicationsWithin(visit.caller);
    const figures = await reads.read(apps?.join(' ') ?? '', () => figuresOf(desk, apps));
    const parts = [volumes, outcomes, durations, rateLimits, tokens].map((part) => part(figures));
    return {
      ...frame,
      content: html`<p>Payouts that finished on ${figures.day} (UTC). ${figures.open} are open now. The figures may be ${FRESH_MS / 1_000} seconds old.</p>
<div class="figures">${parts.map((part) => html`<section class="card">${part}</section>`)}</div>`,
    };
  });
}

/** A number, with a bar that compares it with the others. */
function bar(value: number, all: readonly number[]): Html {
  return html`${value} <meter aria-hidden="true" value="${value}" max="${Math.max(1, ...all)}"></meter>`;
}

function outcomes({ outcomes }: Figures): Html {
  const counts = [...outcomes.values()];
  return html`<h2>Payouts by outcome</h2>${table({
    caption: 'Every payout that finished today',
    head: ['Outcome', 'Payouts'],
    rows: Array.from(outcomes, ([outcome, count]) => [label(outcome), bar(count, counts)]),
  })}`;
}

function volumes(figures: Figures): Html {
  const { last } = figures;
  const groups = [...new Set(last.map(currencyOf))].sort().flatMap((currency) =>
    OUTCOMES.map((outcome) => ({
      currency,
      outcome,
      ended: last.filter((one) => currencyOf(one) === currency && one.outcome === outcome),
    })),
  );
  const shown = groups.filter(({ ended }) => ended.length > 0);
  const counts = shown.map(({ ended }) => ended.length);
  return html`<h2>Volumes by outcome and currency</h2>${table({
    caption: `Payouts and amounts, ${sampleText(figures)}`,
    head: ['Currency', 'Outcome', 'Payouts', 'Received', 'Failed'],
    rows: shown.map(({ currency, outcome, ended }) => {
      const moved = ended.flatMap(({ result }) => (result ? [movedMoney(result)] : []));
      const sum = (kind: 'received' | 'failed') =>
        totalsByCurrency(moved.flatMap((one) => one[kind]))
          .map(money)
          .join(', ') || '–';
      return [currency, label(outcome), bar(ended.length, counts), sum('received'), sum('failed')];
    }),
  })}<p class="faint">Amounts cover the last ${MAX_RESULTS} payouts. For all of them, see the daily report.</p>`;
}

/** The currency that the beneficiary gets, if the result names it. */
function currencyOf({ result }: EndedPayout): string {
  const { quote, received, failed } = result ?? {};
  return quote?.target.currency ?? received?.currency ?? failed?.currency ?? 'Without a quote';
}

const DURATIONS: readonly (readonly [name: string, untilMs: number])[] = [
  ['Up to 10 s', 10_000],
  ['Up to 1 min', 60_000],
  ['Up to 10 min', 600_000],
  ['Up to 1 h', HOUR_MS],
  ['Up to 1 d', DAY_MS],
  ['Longer', Number.POSITIVE_INFINITY],
];

function durations(figures: Figures): Html {
  const created = figures.last.filter(({ outcome }) => outcome !== 'NOT_CREATED');
  const counts = DURATIONS.map(([, untilMs], at) => {
    const fromMs = DURATIONS[at - 1]?.[1] ?? -1;
    return created.filter(({ tookMs }) => tookMs > fromMs && tookMs <= untilMs).length;
  });
  return html`<h2>Time to final status</h2>${table({
    caption: `Payouts with an order, ${sampleText(figures)}`,
    head: ['Time', 'Payouts'],
    rows: DURATIONS.map(([name], at) => [name, bar(counts[at] ?? 0, counts)]),
  })}<p class="faint">From the start of the payout, including waits for an approval. A payout that is open for many hours continues in a new run; the time starts with that run.</p>`;
}

function rateLimits({ apps, moreApps }: Figures): Html {
  const rounded = (rate: number) => Math.round(rate * 10) / 10;
  const rates = apps.map(({ taken = 0 }) => rounded(taken));
  return html`<h2>Rate-limit use</h2>${table({
    caption: 'Calls to the provider by application',
    head: ['Application', 'Calls per second', 'Waiting calls', 'Limit per second'],
    rows: apps.map(({ app, taken, waiting, callsPerSecond }) => [
      app,
      taken === undefined ? 'unknown' : bar(rounded(taken), rates),
      waiting ?? 'unknown',
      // Null: nobody has set one.
      callsPerSecond === null
        ? 'the setting of the workers'
        : (callsPerSecond ?? 'unknown: no worker serves it'),
    ]),
  })}${moreApps && html`<p class="faint">There are more applications.</p>`}
<p class="faint">Temporal's estimate of the last seconds, without token calls. The workers' metrics are exact.</p>`;
}

function tokens({ apps, tokens: { all, needingAttention } }: Figures): Html {
  return html`<h2>Token health</h2>${table({
    caption: 'Tokens',
    head: ['Token', 'State', 'Expires'],
    rows: apps.map(({ app, token }) => [
      `Application ${app}`,
      token?.sentence ?? 'unknown: no worker responds',
      time(token?.expiresAt),
    ]),
  })}<p>Of ${all} tokens of applications and users, ${needingAttention} need attention.</p>`;
}

function sampleText({ last, outcomes }: Figures): string {
  const all = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
  return all > last.length ? `the last ${last.length} of ${all}` : 'all of today';
}
