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
