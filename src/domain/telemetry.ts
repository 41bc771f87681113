/** The metrics of a worker, and the log events of payouts. `docs/reference.md` explains both. */
import type { MetricMeter } from '@temporalio/common';
import { compact } from '../contract/compact.ts';

export interface Metric {
  kind: 'counter' | 'gauge' | 'histogram';
  labels: readonly string[];
  /** Only of a histogram. In seconds. */
  buckets?: readonly number[];
}

/** Labels hold names of the configuration and values of our own lists, never ids or text of callers. Durations are seconds. */
export const WORKER_METRICS = {
  payouts_started: { kind: 'counter', labels: ['app'] },
  payouts_ended: { kind: 'counter', labels: ['app', 'outcome', 'learned_by'] },
  payouts_creates: { kind: 'counter', labels: ['app', 'answer'] },
  payouts_lock_to_create_seconds: {
    kind: 'histogram',
    labels: ['app'],
    buckets: [0.5, 1, 2, 5, 10, 20, 30, 45, 60, 120, 300, 3_600],
  },
  payouts_notification_to_final_seconds: {
    kind: 'histogram',
    labels: ['app'],
    buckets: [0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3_600],
  },
  payouts_polls: { kind: 'counter', labels: ['app', 'because'] },
  payouts_notifications_received: { kind: 'counter', labels: ['app'] },
  payouts_open: { kind: 'gauge', labels: ['app', 'phase'] },
  payouts_attention: { kind: 'gauge', labels: ['app', 'code'] },
  payouts_attention_raised: { kind: 'counter', labels: ['app', 'code'] },
  payouts_calls_waiting: { kind: 'gauge', labels: ['app'] },
  payouts_oldest_call_seconds: { kind: 'gauge', labels: ['app'] },
  payouts_reconciliation_lag_seconds: { kind: 'gauge', labels: ['app'] },
  payouts_token_age_seconds: { kind: 'gauge', labels: ['app'] },
  payouts_collector_failures: { kind: 'counter', labels: ['app'] },
  payouts_paused: { kind: 'gauge', labels: ['app'] },
  payouts_lease_owner: { kind: 'gauge', labels: ['app'] },
  payouts_rate_limit_calls_per_second: { kind: 'gauge', labels: ['app'] },
  payouts_provider_unreached_seconds: { kind: 'gauge', labels: ['app'] },
  payouts_provider_calls: { kind: 'counter', labels: ['app', 'operation', 'outcome'] },
  payouts_provider_call_duration_seconds: {
    kind: 'histogram',
    labels: ['app', 'operation'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60],
  },
  payouts_rate_limited: { kind: 'counter', labels: ['app'] },
  payouts_token_renewals: { kind: 'counter', labels: ['app', 'kind'] },
  payouts_token_attention: { kind: 'counter', labels: ['app', 'kind', 'code'] },
  payouts_events_delivered: { kind: 'counter', labels: ['app', 'endpoint'] },
  payouts_event_failures: { kind: 'counter', labels: ['app', 'endpoint'] },
  payouts_events_lost: { kind: 'counter', labels: ['app', 'endpoint'] },
  payouts_endpoints_disabled: { kind: 'counter', labels: ['app', 'endpoint'] },
  payouts_events_unpublished: { kind: 'counter', labels: ['app'] },
  payouts_payloads_encrypted: { kind: 'counter', labels: ['key'] },
  process_start_time_seconds: { kind: 'gauge', labels: [] },
} as const satisfies Readonly<Record<string, Metric>>;

type Table = typeof WORKER_METRICS;

type Named<Kind extends Metric['kind']> = {
  [Name in keyof Table]: Table[Name]['kind'] extends Kind ? Name : never;
}[keyof Table];

/** The gauges whose only label is the application. */
export type AppGauge = {
  [Name in Named<'gauge'>]: Table[Name]['labels'] extends readonly ['app'] ? Name : never;
}[Named<'gauge'>];

export type Labels<Name extends keyof Table> = Readonly<Record<Table[Name]['labels'][number], string>>;

export function count<Name extends Named<'counter'>>(
  meter: MetricMeter,
  name: Name,
  labels: Labels<Name>,
  more = 1,
): void {
  meter.createCounter(name).add(more, labels);
}

export function setGauge<Name extends Named<'gauge'>>(
  meter: MetricMeter,
  name: Name,
  labels: Labels<Name>,
  value: number,
): void {
  meter.createGauge(name, 'float').set(value, labels);
}

/** Clocks differ between processes, so a duration may seem to be negative. */
export function observeMs<Name extends Named<'histogram'>>(
  meter: MetricMeter,
  name: Name,
  labels: Labels<Name>,
  durationMs: number,
): void {
  if (Number.isNaN(durationMs)) return;
  meter.createHistogram(name, 'float').record(Math.max(0, durationMs) / 1_000, labels);
}

/** One line of the log each, with the field `event`. The line holds codes and ids only. */
export const BUSINESS_EVENTS = {
  'payout.started': { level: 'info', says: 'the payout has started', fields: ['app'] },
  'payout.quoted': { level: 'info', says: 'the payout has a quote', fields: ['app'] },
  'payout.create_answered': {
    level: 'info',
    says: 'a create call got a response, or its outcome is unknown',
    fields: ['app', 'answer'],
  },
  'payout.order_known': { level: 'info', says: 'the order of the payout exists', fields: ['app', 'orderId'] },
  'payout.ended': {
    level: 'info',
    says: 'the payout has finished',
    fields: ['app', 'outcome', 'reason', 'learnedBy', 'orderId'],
  },
  'notification.received': { level: 'info', says: 'a notification has reached the payout', fields: ['app'] },
  'notifications.refused': {
    level: 'warn',
    says: 'notifications were refused since the last line',
    fields: ['app', 'since', 'counts'],
  },
  'attention.raised': { level: 'warn', says: 'the workflow needs an operator', fields: ['app', 'codes'] },
  'attention.cleared': { level: 'info', says: 'the workflow needs no attention', fields: ['app', 'codes'] },
  'batch.started': { level: 'info', says: 'the batch has started', fields: ['app'] },
  'batch.ended': { level: 'info', says: 'every row of the batch has finished', fields: ['app'] },
  'token.renewed': { level: 'info', says: 'a token was obtained', fields: ['app', 'kind'] },
  'token.attention': { level: 'warn', says: 'a token needs attention', fields: ['app', 'kind', 'code'] },
  'endpoint.disabled': {
    level: 'warn',
    says: 'an endpoint has disabled itself',
    fields: ['app', 'endpoint', 'why'],
  },
  'events.unpublished': { level: 'error', says: 'events wait for the reconciliation', fields: ['app'] },
  'creation.paused': { level: 'warn', says: 'paused: no create call is sent', fields: ['app'] },
  'creation.resumed': { level: 'info', says: 'the application is no longer paused', fields: ['app'] },
  'lease.taken': { level: 'info', says: 'took the rate-limit lease', fields: ['app', 'silentMs'] },
  'lease.ended': { level: 'info', says: 'no longer owns the rate-limit lease', fields: ['app', 'ending'] },
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
    says: 'a call to the provider has finished',
    fields: ['app', 'operation', 'requestId', 'outcome', 'httpStatus', 'code', 'durationMs'],
  },
} as const satisfies Readonly<
  Record<string, { level: 'debug' | 'info' | 'warn' | 'error'; says: string; fields: readonly string[] }>
>;

export type BusinessEvent = keyof typeof BUSINESS_EVENTS;

/** A record counts by code. */
type Value = string | number | readonly string[] | Readonly<Record<string, number>>;

type Field<Event extends BusinessEvent> = (typeof BUSINESS_EVENTS)[Event]['fields'][number];

/** The log of a workflow or an activity. */
export type EventLogger = Readonly<
  Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields: Record<string, unknown>) => void>
>;

export function logEvent<Event extends BusinessEvent>(
  log: EventLogger,
  event: Event,
  fields: Readonly<Partial<Record<Field<Event>, Value | undefined>>>,
): void {
  const { level, says } = BUSINESS_EVENTS[event];
  log[level](says, { event, ...compact(fields) });
}
