/** The plots of `docs/bench/`, drawn from the figures and from nothing else. */
import type { About, Figures, PartName } from '../figures.ts';
import { ACROSS, axes, linear, logarithmic, UP } from './axes.ts';
import { type Colour, drawing, FRAME, path, short, text } from './svg.ts';

type Part<Name extends keyof Figures> = NonNullable<Figures[Name]>;

/** The file of a part's plot, and what it shows to those who cannot see it. */
export const PLOTS: Partial<Record<PartName, { file: string; shows: string }>> = {
  rateLimit: { file: 'calls.svg', shows: "Most calls in any sliding second, ours and plain Temporal's" },
  backlog: { file: 'lock-to-create.svg', shows: 'Age of the lock at creation, ours and first in, first out' },
  handover: { file: 'handover.svg', shows: 'Longest silence when the lease owner goes' },
  polling: { file: 'polling.svg', shows: 'Time from the final order to the ended payout, by polls' },
};

/** By the name of the file; a plot for each of these parts that was measured. */
export function plotFiles({ rateLimit, backlog, handover, polling }: Figures): Record<string, string> {
  return {
    ...(rateLimit && { 'calls.svg': callsPlot(rateLimit) }),
    ...(backlog && { 'lock-to-create.svg': backlogPlot(backlog) }),
    ...(handover && { 'handover.svg': handoverPlot(handover) }),
    ...(polling && { 'polling.svg': pollingPlot(polling) }),
  };
}

/** A trial says so in its plot. */
function subtitle({ measuredAt, engine, machine, scale }: About, what: string): string {
  const [from, on] = scale === 1 ? ['', ` · ${machine}`] : [`TRIAL at scale ${scale} · `, ''];
  return `${from}${what} · ${measuredAt.slice(0, 10)} · ${engine}${on}`;
}

function callsPlot(rateLimit: Part<'rateLimit'>): string {
  const limit = Number(rateLimit.settings['limit']);
  const [ours, plain] = [rateLimit.callsInSlidingSecond, rateLimit.baseline.callsInSlidingSecond];
  const x = linear(Math.max(ours.length, plain.length), ACROSS);
  const y = linear(Math.max(limit, ...ours, ...plain), UP);
  const line = (series: readonly number[], colour: Colour) =>
    path(
      series.map((calls, second) => [x.at(second + 0.5), y.at(calls)]),
      `line ${colour}`,
    );
  return drawing({
    title: 'Most calls in any sliding second',
    subtitle: subtitle(rateLimit, `${rateLimit.settings['payouts']} payouts, three workers`),
    legend: [
      { colour: 'one', text: `durable-payouts: ${rateLimit.answered429} × 429` },
      { colour: 'two', text: `plain Temporal: ${rateLimit.baseline.answered429} × 429` },
      { colour: 'limit', text: `the limit: ${limit}` },
    ],
    body: [
      ...axes(x, y, { x: 'time since the first call (s)', y: 'calls in a sliding second' }),
      line(plain, 'two'),
      path(
        [
          [FRAME.left, y.at(limit)],
          [FRAME.right, y.at(limit)],
        ],
        'limit',
      ),
      line(ours, 'one'),
    ],
  });
}

function backlogPlot(backlog: Part<'backlog'>): string {
  const { baseline } = backlog;
  return distribution({
    title: 'From the locked rate to the created order',
    subtitle: subtitle(backlog, `${backlog.settings['payouts']} payouts at once`),
    x: 'age of the lock when the order was created (s, logarithmic)',
    ours: backlog.lockToCreate,
    beside: baseline.lockToCreate,
    legend: ['urgent calls first', `first in, first out, ${backlog.settings['baselinePayouts']} at once`],
    limit: { ms: Number(backlog.settings['lockLifetimeMs']), text: "the lock's lifetime" },
  });
}

function pollingPlot(polling: Part<'polling'>): string {
  return distribution({
    title: 'From the final order to the ended payout, by polls alone',
    subtitle: subtitle(polling, `${polling.settings['openPayouts']} open payouts`),
    x: 'time until the payout has ended (s, logarithmic)',
    ours: polling.detect,
    beside: polling.leastPossible,
    legend: ['durable-payouts', 'least possible within the limit'],
  });
}

interface Distribution {
  title: string;
  subtitle: string;
  x: string;
  /** The 0th to the 100th percentile, in ms. */
  ours: readonly number[];
  beside: readonly number[];
  legend: readonly [string, string];
  limit?: { ms: number; text: string };
}

function distribution({ title, subtitle, x: label, ours, beside, legend, limit }: Distribution): string {
  const marks = limit ? [limit.ms] : [];
  const seconds = [...ours, ...beside, ...marks].filter((ms) => ms > 0).map((ms) => ms / 1_000);
  const x = logarithmic(seconds, ACROSS);
  const y = linear(100, UP, (part) => `${part} %`);
  const line = (values: readonly number[], colour: Colour) =>
    path(
      values.map((ms, part) => [x.at(ms / 1_000), y.at(part)]),
      `line ${colour}`,
    );
  const entries = [
    { colour: 'one', text: legend[0] },
    { colour: 'two', text: legend[1] },
    ...(limit ? ([{ colour: 'limit', text: limit.text }] as const) : []),
  ] as const;
  return drawing({
    title,
    subtitle,
    legend: entries,
    body: [
      ...axes(x, y, { x: label, y: 'share of payouts' }),
      line(beside, 'two'),
      line(ours, 'one'),
      ...marks.map((ms) =>
        path(
          [
            [x.at(ms / 1_000), FRAME.top],
            [x.at(ms / 1_000), FRAME.bottom],
          ],
          'limit',
        ),
      ),
    ],
  });
}

function handoverPlot(handover: Part<'handover'>): string {
  const rows = [
    { name: 'killed (SIGKILL)', ...handover.killed },
    { name: 'stopped (SIGTERM)', ...handover.stopped },
    { name: 'frozen for 10 s', ...handover.frozen },
  ];
  const x = linear(Math.max(...rows.map(({ gap }) => gap)) / 1_000, [FRAME.left + 80, FRAME.right - 90]);
  const height = (FRAME.bottom - FRAME.top) / rows.length;
  const bars = rows.flatMap(({ name, gap, answered429 }, at) => {
    const top = FRAME.top + (at + 0.25) * height;
    const from = x.at(0);
    const end = x.at(gap / 1_000);
    const middle = top + height / 4 + 4;
    return [
      `<rect class="bar" x="${short(from)}" y="${short(top)}" width="${short(end - from)}" height="${short(height / 2)}"/>`,
      text(from - 10, middle, name, { 'text-anchor': 'end' }),
      text(end + 8, middle, `${(gap / 1_000).toFixed(2)} s, ${answered429} × 429`),
    ];
  });
  const empty = { at: () => 0, ticks: [], show: String };
  return drawing({
    title: 'The lease owner goes: how long no call leaves',
    subtitle: subtitle(handover, 'three workers'),
    legend: [],
    body: [...axes(x, empty, { x: 'longest silence (s)', y: '' }), ...bars],
  });
}
