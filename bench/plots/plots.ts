/** The plots of `docs/bench/`, drawn from the figures alone. */
import type { About, Figures, PartName } from '../figures.ts';
import { ACROSS, axes, linear, logarithmic, UP } from './axes.ts';
import { type Color, drawing, FRAME, path, short, text } from './svg.ts';

type Part<Name extends keyof Figures> = NonNullable<Figures[Name]>;

/** The file of a part's plot, and its alternative text. */
export const PLOTS: Partial<Record<PartName, { file: string; shows: string }>> = {
  rateLimit: {
    file: 'calls.svg',
    shows: 'Most calls in any sliding second, durable-payouts and plain Temporal',
  },
  backlog: {
    file: 'lock-to-create.svg',
    shows: 'Age of the lock at the create call, durable-payouts and first in, first out',
  },
  handover: {
    file: 'handover.svg',
    shows: 'Longest gap between calls when the lease owner is killed, stopped or frozen',
  },
  polling: {
    file: 'polling.svg',
    shows: 'Time from the final order to the end of the payout, with polls only',
  },
};

/** By file name: a plot for each of these parts that was measured. */
export function plotFiles({ rateLimit, backlog, handover, polling }: Figures): Record<string, string> {
  return {
    ...(rateLimit && { 'calls.svg': callsPlot(rateLimit) }),
    ...(backlog && { 'lock-to-create.svg': backlogPlot(backlog) }),
    ...(handover && { 'handover.svg': handoverPlot(handover) }),
    ...(polling && { 'polling.svg': pollingPlot(polling) }),
  };
}

/** Marks the plot of a trial. */
function subtitle({ measuredAt, engine, machine, scale }: About, what: string): string {
  const [from, on] = scale === 1 ? ['', ` · ${machine}`] : [`TRIAL at scale ${scale} · `, ''];
  return `${from}${what} · ${measuredAt.slice(0, 10)} · ${engine}${on}`;
}

function callsPlot(rateLimit: Part<'rateLimit'>): string {
  const limit = Number(rateLimit.settings['limit']);
  const [ours, plain] = [rateLimit.callsInSlidingSecond, rateLimit.baseline.callsInSlidingSecond];
  const x = linear(Math.max(ours.length, plain.length), ACROSS);
  const y = linear(Math.max(limit, ...ours, ...plain), UP);
  const line = (series: readonly number[], color: Color) =>
    path(
      series.map((calls, second) => [x.at(second + 0.5), y.at(calls)]),
      `line ${color}`,
    );
  return drawing({
    title: 'Most calls in any sliding second',
    subtitle: subtitle(rateLimit, `${rateLimit.settings['payouts']} payouts, three workers`),
    legend: [
      { color: 'one', text: `durable-payouts: ${rateLimit.answered429} × 429` },
      { color: 'two', text: `plain Temporal: ${rateLimit.baseline.answered429} × 429` },
      { color: 'limit', text: `the limit: ${limit}` },
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
    title: 'From the lock to the create',
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
    title: 'From the final order to the end of the payout, with polls only',
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
  const line = (values: readonly number[], color: Color) =>
    path(
      values.map((ms, part) => [x.at(ms / 1_000), y.at(part)]),
      `line ${color}`,
    );
  const entries = [
    { color: 'one', text: legend[0] },
    { color: 'two', text: legend[1] },
    ...(limit ? ([{ color: 'limit', text: limit.text }] as const) : []),
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
  const x = linear(Math.max(...rows.map(({ gapMax }) => gapMax)) / 1_000, [
    FRAME.left + 80,
    FRAME.right - 90,
  ]);
  const height = (FRAME.bottom - FRAME.top) / rows.length;
  const bars = rows.flatMap(({ name, gapP50, gapMax, answered429 }, at) => {
    const top = FRAME.top + (at + 0.25) * height;
    const from = x.at(0);
    const end = x.at(gapMax / 1_000);
    const median = x.at(gapP50 / 1_000);
    const middle = top + height / 4 + 4;
    return [
      `<rect class="bar" x="${short(from)}" y="${short(top)}" width="${short(end - from)}" height="${short(height / 2)}"/>`,
      text(from - 10, middle, name, { 'text-anchor': 'end' }),
      path(
        [
          [median, top],
          [median, top + height / 2],
        ],
        'limit',
      ),
      text(end + 8, middle, `${(gapP50 / 1_000).toFixed(2)} s, ${answered429} × 429`),
    ];
  });
  const empty = { at: () => 0, ticks: [], show: String };
  return drawing({
    title: 'Longest gap between calls when the lease owner is interrupted',
    subtitle: subtitle(handover, `three workers, ${handover.settings['trials']} times each`),
    legend: [
      { color: 'one', text: 'the longest of all trials' },
      { color: 'limit', text: 'the median' },
    ],
    body: [...axes(x, empty, { x: 'longest gap (s)', y: '' }), ...bars],
  });
}
