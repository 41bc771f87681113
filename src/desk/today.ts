/** `/desk/today`: the payouts of the day, the use of the rate limit and the tokens, as small plots with tables. */
import type { FastifyInstance } from 'fastify';
import { cached } from '../client/shared-reads.ts';
import { OUTCOMES } from '../contract/codes.ts';
import { isScoped } from '../domain/permissions.ts';
import { applicationsWithin } from '../service/permissions.ts';
import { type Desk, getPage } from './context.ts';
import { type Html, html, label, money, table, time } from './html.ts';
import { sendPage } from './layout.ts';
import { barPlot } from './plots.ts';
import {
  type AppFigures,
  currencyOf,
  type EndedPayout,
  type Figures,
  figuresOf,
  MAX_RESULTS,
  sumsOf,
} from './today-figures.ts';

/** Reloads of many people cost Temporal one reading. */
const FRESH_MS = 15_000;
const MAX_CACHED = 100;

export function todayRoutes(scope: FastifyInstance, desk: Desk, environment: string): void {
  const readers = new Map<string, () => Promise<Figures>>();
  const figuresFor = (apps: string[] | undefined): Promise<Figures> => {
    const key = apps?.join(' ') ?? '';
    const read =
      readers.get(key) ??
      cached(
        () => figuresOf({ ...desk, environment }, apps, desk.clock.wallMs()),
        () => FRESH_MS,
        desk.clock,
      );
    if (readers.size >= MAX_CACHED) readers.clear();
    readers.set(key, read);
    return read();
  };

  getPage(scope, desk, '/today', async (visit, _request, reply) => {
    const frame = { title: 'Today', visit, section: 'Today' } as const;
    if (isScoped(visit.caller))
      return sendPage(reply, {
        ...frame,
        content: html`<p class="warning">Your key is limited to clients, payers or users: the figures cover all of them.</p>`,
      });
    const figures = await figuresFor(applicationsWithin(visit.caller));
    const parts = [volumes, outcomePlot, durationPlot, limitPlot, tokenPlot];
    const sections = await Promise.all(parts.map((part) => part(figures)));
    return sendPage(reply, {
      ...frame,
      content: html`<p>Payouts that ended on ${figures.day} (UTC). ${figures.open} are open now. The figures may be ${FRESH_MS / 1_000} seconds old.</p>
<div class="plots">${sections.map((section) => html`<section class="card">${section}</section>`)}</div>`,
    });
  });
}

async function outcomePlot({ outcomes }: Figures): Promise<Html> {
  const title = 'Payouts by outcome';
  const values = OUTCOMES.map((outcome) => outcomes[outcome]);
  const plot = await barPlot({
    title,
    categories: OUTCOMES.map(label),
    series: [{ name: 'Payouts', values }],
  });
  return html`<h2>${title}</h2>${plot}${table({
    caption: 'Every payout that ended today',
    head: ['Outcome', 'Payouts'],
    rows: OUTCOMES.map((outcome) => [label(outcome), outcomes[outcome]]),
  })}`;
}

async function volumes({ last, outcomes }: Figures): Promise<Html> {
  const title = 'Volumes by outcome and currency';
  const currencies = [...new Set(last.map((one) => currencyOf(one) ?? 'Without a quote'))].sort();
  const of = (currency: string, outcome: string) =>
    last.filter((one) => (currencyOf(one) ?? 'Without a quote') === currency && one.outcome === outcome);
  const series = OUTCOMES.map((outcome) => ({
    name: label(outcome),
    values: currencies.map((currency) => of(currency, outcome).length),
  }));
  const rows = currencies.flatMap((currency) =>
    OUTCOMES.flatMap((outcome) => {
      const ended = of(currency, outcome);
      const { received, failed } = sumsOf(ended);
      const sums = [received, failed].map((each) => each.map(money).join(', ') || '–');
      return ended.length > 0 ? [[currency, label(outcome), ended.length, ...sums]] : [];
    }),
  );
  return html`<h2>${title}</h2>${await plotOrNothing(title, currencies, series)}${table({
    caption: `Payouts and amounts, ${sampleText(last, outcomes)}`,
    head: ['Currency', 'Outcome', 'Payouts', 'Received', 'Failed'],
    rows,
  })}<p class="faint">Amounts are in the results, which are read one by one: at most ${MAX_RESULTS}. The daily report has all of them.</p>`;
}

const DURATIONS: readonly (readonly [name: string, untilMs: number])[] = [
  ['Up to 10 s', 10_000],
  ['Up to 1 min', 60_000],
  ['Up to 10 min', 600_000],
  ['Up to 1 h', 3_600_000],
  ['Up to 1 d', 86_400_000],
  ['Longer', Number.POSITIVE_INFINITY],
];

async function durationPlot({ last, outcomes }: Figures): Promise<Html> {
  const title = 'Time to final status';
  const created = last.filter(({ outcome }) => outcome !== 'NOT_CREATED');
  const counts = DURATIONS.map(([, untilMs], at) => {
    const fromMs = DURATIONS[at - 1]?.[1] ?? -1;
    return created.filter(({ tookMs }) => tookMs > fromMs && tookMs <= untilMs).length;
  });
  const categories = DURATIONS.map(([name]) => name);
  return html`<h2>${title}</h2>${await barPlot({ title, categories, series: [{ name: 'Payouts', values: counts }] })}${table(
    {
      caption: `Payouts with an order, ${sampleText(last, outcomes)}`,
      head: ['Time', 'Payouts'],
      rows: categories.map((name, at) => [name, counts[at]]),
    },
  )}<p class="faint">From the start of the payout, waits for an approval included. A payout that is open for many hours continues in a new run, whose start counts here.</p>`;
}

async function limitPlot({ apps, moreApps }: Figures): Promise<Html> {
  const title = 'Rate-limit use';
  const series = [{ name: 'Calls per second', values: apps.map(({ taken = 0 }) => rounded(taken)) }];
  return html`<h2>${title}</h2>${await plotOrNothing(
    title,
    apps.map(({ app }) => app),
    series,
  )}${table({
    caption: 'Calls to the provider by application',
    head: ['Application', 'Calls per second', 'Waiting calls', 'Limit per second'],
    rows: apps.map(({ app, taken, waiting, callsPerSecond }) => [
      app,
      taken === undefined ? 'unknown' : rounded(taken),
      waiting ?? 'unknown',
      limitText(callsPerSecond),
    ]),
  })}${moreApps && html`<p class="faint">There are more applications.</p>`}
<p class="faint">Temporal's estimate of the last seconds, without token calls. The metrics of the workers have the exact use.</p>`;
}

function limitText(callsPerSecond: AppFigures['callsPerSecond']): string {
  if (callsPerSecond === undefined) return 'unknown: no worker serves it';
  return callsPerSecond === null ? 'the setting of the workers' : String(callsPerSecond);
}

async function tokenPlot({ apps, userTokens }: Figures): Promise<Html> {
  const title = 'Token health';
  const known = apps.flatMap(({ token }) => (token ? [token] : []));
  const flagged = known.filter(({ needsAttention }) => needsAttention).length;
  const series = [
    { name: 'Valid', values: [known.length - flagged, userTokens.all - userTokens.needingAttention] },
    { name: 'Needs attention', values: [flagged, userTokens.needingAttention] },
  ];
  return html`<h2>${title}</h2>${await barPlot({ title, categories: ['Applications', 'Users'], series })}${table(
    {
      caption: 'Tokens',
      head: ['Token', 'State', 'Expires'],
      rows: [
        ...apps.map(({ app, token }) => [
          `Application ${app}`,
          token?.sentence ?? 'unknown: no worker answers',
          time(token?.expiresAt),
        ]),
        [
          'Users',
          `${userTokens.all} renewed automatically, ${userTokens.needingAttention} of them need attention`,
          '',
        ],
      ],
    },
  )}`;
}

function rounded(rate: number): number {
  return Math.round(rate * 10) / 10;
}

function sampleText(last: readonly EndedPayout[], outcomes: Figures['outcomes']): string {
  const all = OUTCOMES.reduce((sum, outcome) => sum + outcomes[outcome], 0);
  return all > last.length ? `the last ${last.length} of ${all}` : 'all of today';
}

async function plotOrNothing(
  title: string,
  categories: readonly string[],
  series: Parameters<typeof barPlot>[0]['series'],
): Promise<Html> {
  if (categories.length === 0) return html`<p class="faint">Nothing yet.</p>`;
  return barPlot({ title, categories, series });
}
