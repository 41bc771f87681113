/** The queue of one endpoint: which events to send next, and what a response means. No I/O. */
import { compact } from '../contract/compact.ts';
import type {
  DeliveryLimits,
  DeliveryOutcome,
  DeliveryRecord,
  DisabledCode,
  EndpointKey,
  EndpointState,
  QueueEvents,
  WaitingEvent,
} from '../contract/events.ts';
import { DAY_MS, HOUR_MS, isoTime } from './time.ts';

export const DELIVERY_LIMITS: DeliveryLimits = {
  waiting: 10_000,
  // Temporal's limit for an argument is 2 MB.
  waitingBytes: 1_400_000,
  bodies: 300,
  bodyBytes: 300_000,
  giveUpMs: 3 * DAY_MS,
  firstPauseMs: 5_000,
  maxPauseMs: 2 * HOUR_MS,
};

export interface DeliveryReport {
  outcomes: DeliveryOutcome[];
  /** The worker's time. Unix milliseconds. */
  atMs: number;
  /** No worker with this endpoint in its configuration took the batch. */
  isUnknown?: boolean;
}

/** Kept short enough that each activity ends soon. */
const MAX_BATCH = 50;

/** While the endpoint fails, a batch only probes it. */
const MAX_PROBE = 4;
const MAX_RECENT = 1_000;
const FAILS_AFTER_MS = HOUR_MS;
const PAUSE_GROWTH = 3;

export function newDeliveryRecord(limits: Partial<DeliveryLimits> = {}): DeliveryRecord {
  return {
    limits: { ...DELIVERY_LIMITS, ...limits },
    waiting: [],
    recent: [],
    failures: 0,
    delivered: 0,
    lost: 0,
    attention: [],
  };
}

/** Events with the same key are delivered in order. A payout and its follow-up share one. */
export function orderKey(source: string): string {
  return source.replace(/^payout-follow-up:/, 'payout:');
}

/** Adds events to the queue. Beyond its limits, it keeps references only; beyond those, the endpoint is disabled. */
export function enqueue(record: DeliveryRecord, { events, atMs, resend }: QueueEvents): void {
  const { limits, waiting, recent } = record;
  const known = new Set([...waiting.map(({ id }) => id), ...(resend ? [] : recent)]);
  const bodies = waiting.flatMap(({ body }) => (body ? [body.length] : []));
  let bodyBytes = sumOf(bodies);
  let bytes = sumOf(waiting.map(bytesOf));
  for (const { id, source, type, body = '', trace } of events) {
    if (known.has(id)) continue;
    known.add(id);
    const hasBody =
      body !== '' && bodies.length < limits.bodies && bodyBytes + body.length <= limits.bodyBytes;
    const event = { id, source, ...(hasBody && { type, body }), ...(trace !== undefined && { trace }) };
    if (waiting.length >= limits.waiting || bytes + bytesOf(event) > limits.waitingBytes) {
      record.lost += 1;
      record.disabled ??= { code: 'BACKLOG', atMs };
      continue;
    }
    waiting.push(event);
    bytes += bytesOf(event);
    if (!hasBody) continue;
    bodies.push(body.length);
    bodyBytes += body.length;
  }
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0);

/** In JSON, in which quotes of a body are escaped. */
function bytesOf({ id, source, body = '' }: WaitingEvent): number {
  return 40 + id.length + source.length + JSON.stringify(body).length;
}

/** The events to send now. An event whose predecessor in the same order waits isn't among them. */
export function nextBatch({ disabled, waiting, failures, pauseUntilMs = 0 }: DeliveryRecord, nowMs: number) {
  if (disabled || pauseUntilMs > nowMs) return [];
  const blocked = new Set<string>();
  const batch: WaitingEvent[] = [];
  const max = failures > 0 ? MAX_PROBE : MAX_BATCH;
  for (const event of waiting) {
    if (batch.length >= max) break;
    const key = orderKey(event.source);
    if (blocked.has(key)) continue;
    const isDue = (event.nextTryAtMs ?? 0) <= nowMs;
    if (isDue) batch.push(event);
    // A probe has one event of each order.
    if (!isDue || failures > 0) blocked.add(key);
  }
  return batch;
}

/** When there is something to send; undefined if nothing waits. */
export function nextTryMs({ disabled, waiting, pauseUntilMs = 0 }: DeliveryRecord): number | undefined {
  if (disabled || waiting.length === 0) return undefined;
  const first = new Map<string, number>();
  for (const { source, nextTryAtMs = 0 } of waiting)
    if (!first.has(orderKey(source))) first.set(orderKey(source), nextTryAtMs);
  return Math.max(pauseUntilMs, Math.min(...first.values()));
}

/** `nowMs`: by the workflow's clock, because the clock of a worker may be hours ahead. `chance`, in [0, 1), spreads pauses. */
interface When {
  nowMs: number;
  chance: number;
}

/** Applies the outcomes of a batch. */
export function applyReport(record: DeliveryRecord, report: DeliveryReport, when: When): void {
  const { atMs, outcomes, isUnknown } = report;
  const byId = new Map(outcomes.map((outcome) => [outcome.id, outcome]));
  const failed = outcomes.filter(({ kind }) => kind === 'failed' || kind === 'gone');
  const hasDelivered = outcomes.some(({ kind }) => kind === 'delivered');
  record.waiting = record.waiting.filter((event) => remains(record, event, byId.get(event.id), when));
  if (hasDelivered) {
    record.lastDeliveredMs = atMs;
    clearFailures(record);
    for (const event of record.waiting) if (event.attempts !== undefined) event.othersDelivered = true;
  }
  const reason = isUnknown
    ? 'NOT_CONFIGURED'
    : failed.flatMap((one) => ('reason' in one ? [one.reason] : [])).at(-1);
  if (reason !== undefined) record.lastFailure = { atMs, reason };
  if (!hasDelivered && (failed.length > 0 || isUnknown)) noteFailure(record, atMs, when);
  if (outcomes.some(({ kind }) => kind === 'gone')) record.disabled ??= { code: 'GONE', atMs };
  flagEndpoint(record, when.nowMs);
  // No timer follows, so no time of this workflow task may be kept.
  if (record.disabled) forgetTries(record);
}

/** Whether the event still waits. */
function remains(
  record: DeliveryRecord,
  event: WaitingEvent,
  outcome: DeliveryOutcome | undefined,
  { nowMs, chance }: When,
): boolean {
  if (!outcome || outcome.kind === 'gone') return true;
  if (outcome.kind === 'delivered' || outcome.kind === 'skipped') {
    if (outcome.kind === 'delivered') record.delivered += 1;
    record.recent = [...record.recent, event.id].slice(-MAX_RECENT);
    return false;
  }
  if (outcome.kind === 'unreadable') {
    record.lost += 1;
    return false;
  }
  event.firstTriedAtMs ??= nowMs;
  event.attempts = (event.attempts ?? 0) + 1;
  event.nextTryAtMs = nowMs + pauseMs(record.limits, event.attempts, chance);
  // If no other event arrives either, the endpoint is disabled and keeps the event.
  if (!event.othersDelivered || nowMs - event.firstTriedAtMs < record.limits.giveUpMs) return true;
  record.lost += 1;
  return false;
}

function noteFailure(record: DeliveryRecord, atMs: number, { nowMs, chance }: When): void {
  record.failures += 1;
  record.failingSinceMs ??= nowMs;
  record.pauseUntilMs = nowMs + pauseMs(record.limits, record.failures, chance);
  if (nowMs - record.failingSinceMs >= record.limits.giveUpMs) record.disabled ??= { code: 'FAILING', atMs };
}

function clearFailures(record: DeliveryRecord): void {
  record.failures = 0;
  record.failingSinceMs = undefined;
  record.pauseUntilMs = undefined;
}

function forgetTries(record: DeliveryRecord): void {
  clearFailures(record);
  record.waiting = record.waiting.map(({ id, source, type, body }) => compact({ id, source, type, body }));
}

/** Triples with each failure, and is spread by half in either direction. */
function pauseMs({ firstPauseMs, maxPauseMs }: DeliveryLimits, failures: number, chance: number): number {
  const pause = Math.min(maxPauseMs, firstPauseMs * PAUSE_GROWTH ** Math.min(failures - 1, 30));
  return Math.round(pause * (0.5 + chance));
}

/** Sends again everything that waits, as if for the first time. */
export function enable(record: DeliveryRecord, by: string): void {
  forgetTries(record);
  record.disabled = undefined;
  record.changedBy = by;
  record.lost = 0;
  flagEndpoint(record, 0);
}

const WHY_DISABLED: Record<DisabledCode, string> = {
  GONE: 'it returned 410',
  FAILING: 'it has only failed for three days',
  BACKLOG: 'too many events were waiting',
};

/** `nowMs`: by the workflow's clock; 0 where it isn't known. */
export function flagEndpoint(record: DeliveryRecord, nowMs: number): void {
  const { disabled, failingSinceMs, lost, lastFailure } = record;
  const isFailing = failingSinceMs !== undefined && nowMs - failingSinceMs >= FAILS_AFTER_MS;
  const flags: DeliveryRecord['attention'] = [];
  if (disabled) flags.push({ code: 'ENDPOINT_DISABLED', message: WHY_DISABLED[disabled.code] });
  else if (isFailing)
    flags.push({ code: 'ENDPOINT_FAILS', message: `the last failure: ${lastFailure?.reason}` });
  if (lost > 0) flags.push({ code: 'EVENTS_LOST', message: `${lost} events were not delivered` });
  record.attention = flags;
}

const MAX_SHOWN = 100;

export function endpointState({ app, endpoint }: EndpointKey, record: DeliveryRecord): EndpointState {
  const { disabled, waiting, delivered, lost, lastDeliveredMs, lastFailure, attention } = record;
  return {
    app,
    endpoint,
    sentence: sentenceOf(record),
    isEnabled: disabled === undefined,
    ...(disabled && { disabledAt: isoTime(disabled.atMs) }),
    waiting: waiting.length,
    delivered,
    lost,
    ...(lastDeliveredMs !== undefined && { lastDeliveredAt: isoTime(lastDeliveredMs) }),
    ...(lastFailure && { lastFailure: { at: isoTime(lastFailure.atMs), reason: lastFailure.reason } }),
    needsAttention: attention.length > 0,
    reasons: attention,
    next: waiting
      .slice(0, MAX_SHOWN)
      .map(({ id, source, type, attempts = 0 }) => compact({ id, source, type, attempts })),
  };
}

function sentenceOf({ disabled, failures, waiting }: DeliveryRecord): string {
  if (disabled) return `Disabled: ${WHY_DISABLED[disabled.code]}.`;
  if (failures > 0) return 'Failing; the events are sent again.';
  return waiting.length > 0 ? 'Events are being delivered.' : 'Everything has been delivered.';
}
