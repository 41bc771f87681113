/** Scales and axes: map figures to coordinates. */
import { FRAME, HEIGHT, path, text } from './svg.ts';

export interface Scale {
  at(value: number): number;
  ticks: readonly number[];
  show(value: number): string;
}

/** From 0 to the first round number at or above `most`, in about `steps` steps. */
export function linear(
  most: number,
  [from, to]: readonly [number, number],
  show: Scale['show'] = String,
  steps = 5,
): Scale {
  const step = roundStep((most || 1) / steps);
  const end = Math.max(step, Math.ceil(most / step - 1e-9) * step);
  const ticks = Array.from({ length: Math.round(end / step) + 1 }, (_, at) =>
    Number((at * step).toPrecision(6)),
  );
  return { at: (value) => from + ((to - from) * value) / end, ticks, show };
}

/** Powers of ten around the values. Values below 0.001 are drawn as 0.001. */
export function logarithmic(
  values: readonly number[],
  [from, to]: readonly [number, number],
  show: Scale['show'] = String,
): Scale {
  const low = Math.floor(Math.log10(Math.max(1e-3, Math.min(...values))));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(1e-3, ...values))));
  const ticks = Array.from({ length: high - low + 1 }, (_, at) => Number((10 ** (low + at)).toPrecision(1)));
  const at = (value: number) =>
    from + ((to - from) * (Math.log10(Math.max(10 ** low, value)) - low)) / (high - low);
  return { at, ticks, show };
}

export const ACROSS = [FRAME.left, FRAME.right] as const;
export const UP = [FRAME.bottom, FRAME.top] as const;

export function axes(x: Scale, y: Scale, labels: { x: string; y: string }): string[] {
  const { left, right, top, bottom } = FRAME;
  const middle = (top + bottom) / 2;
  return [
    ...y.ticks.map((tick) =>
      path(
        [
          [left, y.at(tick)],
          [right, y.at(tick)],
        ],
        'grid',
      ),
    ),
    ...y.ticks.map((tick) => text(left - 8, y.at(tick) + 4, y.show(tick), { 'text-anchor': 'end' })),
    ...x.ticks.map((tick) =>
      path(
        [
          [x.at(tick), bottom],
          [x.at(tick), bottom + 5],
        ],
        'grid',
      ),
    ),
    ...x.ticks.map((tick) => text(x.at(tick), bottom + 20, x.show(tick), { 'text-anchor': 'middle' })),
    text((left + right) / 2, HEIGHT - 44, labels.x, { 'text-anchor': 'middle', class: 'faint' }),
    text(20, middle, labels.y, {
      'text-anchor': 'middle',
      class: 'faint',
      transform: `rotate(-90 20 ${middle})`,
    }),
  ];
}

function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough - 1e-9) ?? 10;
  return step * power;
}
