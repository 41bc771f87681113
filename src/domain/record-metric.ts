/** Records the metrics of the table. Imports only its types, so that its texts stay out of the workflow bundle. */
import type { Metric, WORKER_METRICS } from './metrics.ts';

type Table = typeof WORKER_METRICS;
type Named<Kind extends Metric['kind']> = {
  [Name in keyof Table]: Table[Name]['kind'] extends Kind ? Name : never;
}[keyof Table];
/** Those whose only label is the application. */
export type AppGauge = {
  [Name in Named<'gauge'>]: Table[Name]['labels'] extends readonly ['app'] ? Name : never;
}[Named<'gauge'>];
export type Labels<Name extends keyof Table> = Readonly<Record<Table[Name]['labels'][number], string>>;

/** The part of the SDK's meter that is used. A workflow's does nothing during a replay. */
export interface Meter {
  createCounter(name: string): { add(value: number, tags?: Record<string, string>): void };
  createGauge(
    name: string,
    valueType?: 'int' | 'float',
  ): { set(value: number, tags?: Record<string, string>): void };
  createHistogram(
    name: string,
    valueType?: 'int' | 'float',
  ): { record(value: number, tags?: Record<string, string>): void };
}

export function count<Name extends Named<'counter'>>(
  meter: Pick<Meter, 'createCounter'>,
  name: Name,
  labels: Labels<Name>,
  more = 1,
): void {
  meter.createCounter(name).add(more, labels);
}

export function setGauge<Name extends Named<'gauge'>>(
  meter: Pick<Meter, 'createGauge'>,
  name: Name,
  labels: Labels<Name>,
  value: number,
): void {
  meter.createGauge(name, 'float').set(value, labels);
}

/** Clocks differ between processes, so a duration may seem to be negative. */
export function observeMs<Name extends Named<'histogram'>>(
  meter: Pick<Meter, 'createHistogram'>,
  name: Name,
  labels: Labels<Name>,
  durationMs: number,
): void {
  if (Number.isNaN(durationMs)) return;
  meter.createHistogram(name, 'float').record(Math.max(0, durationMs) / 1_000, labels);
}
