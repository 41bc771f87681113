/** Draws a dashboard as SVG, for light and dark pages. */
import { linear } from '../../bench/plots/axes.ts';
import { path, short, svg, text } from '../../bench/plots/svg.ts';
import type { Dashboard, Panel, Range, Series } from './dashboards.ts';

const COLUMNS = 2;
const PANEL = { width: 600, height: 268 };
/** The axes within a panel. */
const FRAME = { left: 58, right: 568, top: 40, bottom: 168 };
const TITLE = 60;
const CAPTION_LINE = 18;
const LEGEND = { top: 206, line: 18, columns: 2, rows: 3 };
const MAX_SERIES = LEGEND.columns * LEGEND.rows;
/** Longer names would overlap. */
const MAX_NAME = 38;
const COLORS = 6;
/** About so many steps of the vertical axis. */
const STEPS = 4;

const STYLE = `
  :root { --ground: #ffffff; --panel: #f6f8fa; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --band: #ffd8b5;
    --c0: #0550ae; --c1: #bc4c00; --c2: #1a7f37; --c3: #8250df; --c4: #bf3989; --c5: #6e7781; }
  @media (prefers-color-scheme: dark) {
    :root { --ground: #0d1117; --panel: #151b23; --ink: #f0f6fc; --faint: #9198a1; --line: #3d444d; --band: #5a3416;
      --c0: #58a6ff; --c1: #f0883e; --c2: #3fb950; --c3: #bc8cff; --c4: #f778ba; --c5: #9198a1; }
  }
  text { font: 12px system-ui, sans-serif; fill: var(--ink); }
  .title { font-size: 18px; font-weight: 600; } .name { font-size: 14px; font-weight: 600; }
  .faint { fill: var(--faint); font-size: 11px; }
  .ground { fill: var(--ground); } .panel { fill: var(--panel); } .band { fill: var(--band); opacity: 0.6; }
  .grid { stroke: var(--line); stroke-width: 1; } .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
  ${Array.from({ length: COLORS }, (_, at) => `.c${at} { stroke: var(--c${at}); }`).join(' ')}`;

/** A part of the range, such as an incident. Times in seconds since 1970. */
export interface Band {
  letter: string;
  from: number;
  to: number;
}

export function drawDashboard(
  { title, panels }: Dashboard,
  range: Range,
  bands: readonly Band[],
  captions: readonly string[],
): string {
  const rows = Math.ceil(panels.length / COLUMNS);
  const head = TITLE + captions.length * CAPTION_LINE;
  const [width, height] = [COLUMNS * PANEL.width + 16, head + rows * PANEL.height + 16];
  return svg({ title, style: STYLE, width, height }, [
    text(20, 36, title, { class: 'title' }),
    ...captions.map((line, at) => text(20, TITLE + at * CAPTION_LINE, line, { class: 'faint' })),
    ...panels.flatMap((panel, at) => {
      const [x, y] = [8 + (at % COLUMNS) * PANEL.width, head + Math.floor(at / COLUMNS) * PANEL.height];
      return [`<g transform="translate(${x} ${y})">`, ...panelLines(panel, range, bands), '</g>'];
    }),
  ]);
}

function panelLines({ title, unit, series }: Panel, range: Range, bands: readonly Band[]): string[] {
  const { left, right, top, bottom } = FRAME;
  const shown = largest(series);
  const values = shown.flatMap(({ points }) => points.map(([, value]) => value));
  const up = linear(Math.max(0, ...values), [bottom, top], (value) => shownValue(value, unit), STEPS);
  const x = (at: number) => left + ((at - range.from) / (range.to - range.from)) * (right - left);
  const y = (value: number) => up.at(Math.max(0, value));
  const lines = [
    `<rect class="panel" x="4" y="4" width="${PANEL.width - 8}" height="${PANEL.height - 8}" rx="6"/>`,
    text(16, 26, title, { class: 'name' }),
    ...bands.flatMap((band) => bandLines(band, x)),
  ];
  for (const tick of up.ticks)
    lines.push(
      path(
        [
          [left, y(tick)],
          [right, y(tick)],
        ],
        'grid',
      ),
      text(left - 6, y(tick) + 4, up.show(tick), { 'text-anchor': 'end', class: 'faint' }),
    );
  for (let at = range.from; at <= range.to; at += 60)
    lines.push(
      text(x(at), bottom + 16, `${Math.round((at - range.from) / 60)} min`, {
        ...{ 'text-anchor': 'middle', class: 'faint' },
      }),
    );
  if (values.length === 0)
    lines.push(
      text((left + right) / 2, (top + bottom) / 2, 'no data', { 'text-anchor': 'middle', class: 'faint' }),
    );
  shown.forEach((one, at) => {
    lines.push(...seriesLines(one, range.step, x, y, at), ...legendLines(one.name, at));
  });
  if (series.length > shown.length)
    lines.push(
      text(right, LEGEND.top + LEGEND.rows * LEGEND.line - 6, `and ${series.length - shown.length} more`, {
        ...{ 'text-anchor': 'end', class: 'faint' },
      }),
    );
  return lines;
}

function bandLines({ letter, from, to }: Band, x: (at: number) => number): string[] {
  const { top, bottom } = FRAME;
  return [
    `<rect class="band" x="${short(x(from))}" y="${top}" width="${short(x(to) - x(from))}" height="${bottom - top}"/>`,
    text((x(from) + x(to)) / 2, top + 12, letter, { 'text-anchor': 'middle', class: 'faint' }),
  ];
}

/** A line ends where a point is missing. */
function seriesLines(
  { points }: Series,
  step: number,
  x: (at: number) => number,
  y: (value: number) => number,
  color: number,
): string[] {
  const parts: [number, number][][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const [at, value] of points) {
    if (at - last > step * 1.5) parts.push([]);
    parts.at(-1)?.push([x(at), y(value)]);
    last = at;
  }
  return parts.map((part) => path(part.length > 1 ? part : [...part, ...part], `line c${color}`));
}

function legendLines(name: string, at: number): string[] {
  const x = FRAME.left + (at % LEGEND.columns) * ((FRAME.right - FRAME.left) / LEGEND.columns);
  const y = LEGEND.top + Math.floor(at / LEGEND.columns) * LEGEND.line;
  const label = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
  return [`<path class="line c${at}" d="M${short(x)} ${y - 4}h16"/>`, text(x + 22, y, label)];
}

/** In their order. */
function largest(series: readonly Series[]): Series[] {
  const top = ({ points }: Series) => Math.max(0, ...points.map(([, value]) => value));
  const kept = new Set([...series].sort((one, two) => top(two) - top(one)).slice(0, MAX_SERIES));
  return series.filter((one) => kept.has(one));
}

function shownValue(value: number, unit: string): string {
  const rounded = (of: number) => String(Number(of.toPrecision(3)));
  if (unit === 'percentunit') return `${rounded(value * 100)} %`;
  if (unit === 'ms' && value >= 1_000) return `${rounded(value / 1_000)} s`;
  return unit === 'short' ? rounded(value) : `${rounded(value)} ${unit}`;
}
