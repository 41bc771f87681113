/**
 * Shows the state in the Temporal UI. A search attribute costs a history event and a write to the visibility store, so
 * only changes are written, and only when a payout waits or ends. The `state` query and the event summaries show the
 * phases in between. What is shown to operators is published to callers.
 */
import {
  log,
  metricMeter,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { CreateResult } from '../../activities/payout/create-payout.ts';
import type { Prepared } from '../../activities/shared/preparation.ts';
import { clientPair, ownIdOf } from '../../contract/ids.ts';
import { formatMoney } from '../../contract/money.ts';
import type { PayoutResult, PayoutState } from '../../contract/payout.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import type { NotCreatedResolution } from '../../contract/workflows.ts';
import { publishPayout } from '../../domain/events.ts';
import type { PayoutRecord } from '../../domain/payout-record.ts';
import { beingResolved, payoutState } from '../../domain/payout-state.ts';
import { count, logEvent, observeMs } from '../../domain/telemetry.ts';
import { attentionChanges } from '../shared/attention.ts';
import type { Publisher } from '../shared/publish-events.ts';

/** The part of a run that its state needs. `prepared` is undefined until the request has been checked. */
interface ShownRun {
  readonly record: PayoutRecord;
  readonly prepared: Prepared<CheckedPayoutRequest> | undefined;
  readonly publisher: Publisher;
  readonly resolution?: { decision: NotCreatedResolution } | undefined;
}

export function showState(run: ShownRun): void {
  const state = stateOf(run);
  setCurrentDetails(details(run, state));
  const changes = { ...attributeChanges(run, state), ...attentionChanges(state.reasons) };
  if (Object.keys(changes).length > 0) upsertSearchAttributes(changes);
  const { prepared } = run;
  if (prepared)
    run.publisher.publish((published, publish) => publishPayout(published, prepared.request, state, publish));
}

export function stateOf(run: ShownRun): PayoutState {
  const { record, prepared } = run;
  if (!prepared) return payoutState(record, { partnerOrderId: ownIdOf(workflowInfo().workflowId) });
  const state = payoutState(record, prepared.request, prepared.settings.lockLifetimeMs);
  return run.resolution ? { ...state, ...beingResolved(run.resolution.decision) } : state;
}

/** No personal data here: ids and statuses only. */
function attributeChanges({ prepared }: ShownRun, state: PayoutState): Record<string, [string]> {
  const shown = workflowInfo().searchAttributes;
  const wanted: Record<string, string | undefined> = {
    PayoutApp: prepared?.request.app,
    PayoutPhase: state.phase,
    PayoutOutcome: state.outcome,
    PayoutPair: shownPair(prepared, state),
    PayoutOrderId: state.orderId,
    PayoutAuditStatus: state.auditStatus,
  };
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, value]) =>
      value === undefined || value === '' || shown[name]?.[0] === value ? [] : [[name, [value]]],
    ),
  );
}

/** A payout that has ended with an order shows that its pair works. No event of its own: it is written with the outcome. */
function shownPair(prepared: ShownRun['prepared'], { outcome }: PayoutState): string | undefined {
  if (!prepared || outcome === undefined || outcome === 'NOT_CREATED') return undefined;
  return clientPair(prepared.settings.environment, prepared.request);
}

/** Amounts, and what the payout waits for and until when. */
function details(run: ShownRun, state: PayoutState): string {
  const { quote, received, failed, orderId, auditStatus } = state;
  const { instructedAmount, notBefore } = run.prepared?.request ?? {};
  const lines = [
    `**${state.phase}**: ${state.sentence}`,
    `Next: ${state.nextStep}`,
    state.phase === 'SCHEDULED' && notBefore && `Starts at ${notBefore}`,
    state.phase === 'AWAITING_APPROVAL' &&
      state.approvalExpiresAt &&
      `Can be approved until ${state.approvalExpiresAt}`,
    ...state.reasons.map((reason) => `⚠ ${reason.code}: ${reason.message}`),
    quote
      ? `Pays ${formatMoney(quote.pay)} for ${formatMoney(quote.target)} at ${quote.exchangeRate}, fee ${formatMoney(quote.fee)}`
      : instructedAmount && `Instructed: ${formatMoney(instructedAmount)}`,
    state.lockExpiresAt && `The lock expires at ${state.lockExpiresAt} (lockRateId ${quote?.lockRateId})`,
    state.reviewedOrderIds && `Orders to review: ${state.reviewedOrderIds.join(', ')}`,
    state.sends !== undefined && `Creates sent, or possibly sent: ${state.sends}`,
    received && `Received ${formatMoney(received)}${failed ? `, failed ${formatMoney(failed)}` : ''}`,
    orderId && `Order ${orderId}${auditStatus ? `, risk audit ${auditStatus}` : ''}`,
    state.lastAskedAt &&
      `Provider last asked ${state.lastAskedAt}, last confirmed ${state.lastConfirmedAt ?? 'never'}`,
  ];
  // Two spaces: a line break in Markdown. Paragraphs would take twice the space.
  return lines.filter((line) => typeof line === 'string' && line !== '').join('  \n');
}

interface Observed {
  readonly record: PayoutRecord;
  readonly request: { app: string };
}

/**
 * The log and the metrics. Nothing here decides anything, and a replay neither logs nor counts. No amounts, names or texts:
 * only ids, codes and durations.
 */
export function noteStarted({ request: { app } }: Observed): void {
  count(metricMeter, 'payouts_started', { app });
  logEvent(log, 'payout.started', { app });
}

export function noteQuoted({ request: { app } }: Observed): void {
  logEvent(log, 'payout.quoted', { app });
}

export function noteCreate(
  { record, request: { app } }: Observed,
  { kind: answer }: CreateResult | { kind: 'unanswered' },
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
