/** What workflows and activities record: metrics and log events. */
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

/**
 * What the log says of payouts and of what they need: one line for each, with the field `event`. The line holds codes and
 * ids only. `docs/reference.md` is generated from this table.
 */
export const BUSINESS_EVENTS = {
  'payout.started': { level: 'info', says: 'the payout has started', fields: ['app'] },
  'payout.quoted': { level: 'info', says: 'the payout has a quote', fields: ['app'] },
  'payout.create_answered': {
    level: 'info',
    says: 'a create was answered, or its outcome is unknown',
    fields: ['app', 'answer'],
  },
  'payout.order_known': { level: 'info', says: 'the order of the payout exists', fields: ['app', 'orderId'] },
  'payout.ended': {
    level: 'info',
    says: 'the payout has ended',
    fields: ['app', 'outcome', 'reason', 'learnedBy', 'orderId'],
  },
  'notification.received': { level: 'info', says: 'a notification has reached the payout', fields: ['app'] },
  'notifications.refused': {
    level: 'warn',
    says: 'notifications were refused since the last line',
    fields: ['app', 'since', 'counts'],
  },
  'attention.raised': {
    level: 'warn',
    says: 'a person should look at the workflow',
    fields: ['app', 'codes'],
  },
  'attention.cleared': { level: 'info', says: 'the workflow needs no attention', fields: ['app', 'codes'] },
  'batch.started': { level: 'info', says: 'the batch has started', fields: ['app'] },
  'batch.ended': { level: 'info', says: 'every row of the batch has ended', fields: ['app'] },
  'token.renewed': { level: 'info', says: 'a token was obtained', fields: ['app', 'kind'] },
  'token.attention': { level: 'warn', says: 'a token needs attention', fields: ['app', 'kind', 'code'] },
  'endpoint.disabled': {
    level: 'warn',
    says: 'an endpoint has disabled itself',
    fields: ['app', 'endpoint', 'why'],
  },
  'events.unpublished': {
    level: 'error',
    says: 'events could not be published; reconciliation publishes them',
    fields: ['app'],
  },
  'creation.paused': {
    level: 'warn',
    says: 'the application is paused: no create call is sent',
    fields: ['app'],
  },
  'creation.resumed': { level: 'info', says: 'the application is no longer paused', fields: ['app'] },
  'lease.taken': {
    level: 'info',
    says: 'took the rate-limit lease',
    fields: ['app', 'silentMs'],
  },
  'lease.ended': {
    level: 'info',
    says: 'no longer owns the rate-limit lease',
    fields: ['app', 'ending'],
  },
  'provider.unreached': {
    level: 'warn',
    says: 'no call reaches the provider; releases the rate-limit lease to another process',
    fields: ['app', 'unreachedMs'],
  },
  'worker.ready': {
    level: 'info',
    says: 'the worker serves tasks under this identity in Temporal',
    fields: ['identity', 'environment', 'apps', 'metrics', 'health'],
  },
  'provider.call': {
    level: 'debug',
    says: 'a call to the provider has ended',
    fields: ['app', 'operation', 'requestId', 'outcome', 'httpStatus', 'code', 'durationMs'],
  },
} as const satisfies Readonly<
  Record<string, { level: 'debug' | 'info' | 'warn' | 'error'; says: string; fields: readonly string[] }>
>;

export type BusinessEvent = keyof typeof BUSINESS_EVENTS;

/** Counts by code. */
type Counts = Readonly<Record<string, number>>;

type Value = string | number | readonly string[] | Counts;

type Field<Event extends BusinessEvent> = (typeof BUSINESS_EVENTS)[Event]['fields'][number];

/** Of a workflow or an activity. */
export type EventLogger = Readonly<
  Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields: Record<string, unknown>) => void>
>;

export function logEvent<Event extends BusinessEvent>(
  log: EventLogger,
  event: Event,
  fields: Readonly<Partial<Record<Field<Event>, Value | undefined>>>,
): void {
  const { level, says } = BUSINESS_EVENTS[event];
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  log[level](says, { event, ...Object.fromEntries(given) });
}
