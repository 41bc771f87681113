/**
 * What the log and the metrics say of a payout. Nothing here decides anything, and a replay neither logs nor counts. No
 * amounts, names or texts: only ids, codes and durations.
 */
import { log, metricMeter } from '@temporalio/workflow';
import type { CreateAnswer } from '../../activities/payout/create-payout.ts';
import type { PayoutResult } from '../../contract/payout.ts';
import type { PayoutRecord } from '../../domain/payout-record.ts';
import { count, logEvent, observeMs } from '../../domain/telemetry.ts';

interface Observed {
  readonly record: PayoutRecord;
  readonly request: { app: string };
}

export function noteStarted({ request: { app } }: Observed): void {
  count(metricMeter, 'payouts_started', { app });
  logEvent(log, 'payout.started', { app });
}

export function noteQuoted({ request: { app } }: Observed): void {
  logEvent(log, 'payout.quoted', { app });
}

export function noteCreate(
  { record, request: { app } }: Observed,
  { kind: answer }: CreateAnswer | { kind: 'unanswered' },
): void {
  count(metricMeter, 'payouts_creates', { app, answer });
  if (answer === 'created')
    observeMs(metricMeter, 'payouts_lock_to_create_seconds', { app }, Date.now() - record.quotedAtMs);
  logEvent(log, 'payout.create_answered', { app, answer });
}

export function noteOrder({ record: { order }, request: { app } }: Observed): void {
  logEvent(log, 'payout.order_known', { app, orderId: order?.orderId });
}

/** The application is unknown until the request has been checked. */
export function noteNotification(app: string | undefined): void {
  if (app !== undefined) count(metricMeter, 'payouts_notifications_received', { app });
  logEvent(log, 'notification.received', { app });
}

export function notePoll({ request: { app } }: Observed, because: 'notification' | 'poll'): void {
  count(metricMeter, 'payouts_polls', { app, because });
}

export function noteEnded(
  { record: { notifiedAtMs }, request: { app } }: Observed,
  { outcome, learnedBy, reason, orderId }: PayoutResult,
): void {
  count(metricMeter, 'payouts_ended', { app, outcome, learned_by: learnedBy ?? 'none' });
  if (learnedBy === 'notification' && notifiedAtMs !== undefined)
    observeMs(metricMeter, 'payouts_notification_to_final_seconds', { app }, Date.now() - notifiedAtMs);
  logEvent(log, 'payout.ended', { app, outcome, reason: reason?.code, learnedBy, orderId });
}
