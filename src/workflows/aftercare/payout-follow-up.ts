/**
 * Looks again after a payout's end, for money may come back: at the times of PAYOUTS_FOLLOW_UP, and when a
 * notification comes late. Asks for the detail only, behind every other call, and rewrites no result: it says
 * what has changed since.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  isCancellation,
  log,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { changesQuery } from '../../contract/follow-up-messages.ts';
import { notificationSignal } from '../../contract/payout-messages.ts';
import {
  checkTimeoutMs,
  differencesSince,
  type FollowUpPlan,
  type FollowUpRecord,
  type FollowUpRequest,
  type FollowUpResult,
  followUpNeedsAttention,
  followUpResult,
  hintPauseMs,
  newFollowUpRecord,
  nextCheckMs,
  notChecked,
  returnedPayments,
} from '../../domain/follow-up.ts';
import type { TradeDetail } from '../../domain/provider-records.ts';
import { local, spare } from '../shared/calls.ts';
import { isHistoryLong } from '../shared/long-history.ts';
import { onSignal } from '../shared/raw-signal.ts';

export async function payoutFollowUp(
  request: FollowUpRequest,
  carried?: FollowUpRecord,
): Promise<FollowUpResult> {
  const record = carried ?? newFollowUpRecord();
  setHandler(changesQuery, () => followUpResult(request, record));
  // Whatever it says, it only makes this look.
  onSignal(notificationSignal, () => {
    record.hinted = true;
  });
  const plan = await local.prepareFollowUp(request);
  for (;;) {
    const because = await nextLook(request, plan, record);
    if (because === undefined) return followUpResult(request, record);
    if (because === 'notification') spendHint(plan, record);
    await look(request, plan, record, because);
    await continueAsNewWhenLong(request, record);
  }
}

/** Waits for a reason to look; undefined when there will be none any more. */
async function nextLook(
  request: FollowUpRequest,
  plan: FollowUpPlan,
  record: FollowUpRecord,
): Promise<'plan' | 'notification' | undefined> {
  for (;;) {
    const nowMs = Date.now();
    const dueMs = nextCheckMs(request, plan, record.lookedAtMs);
    // First, for it has to be paid for: its pause keeps a storm here that would else start one run after another.
    if (record.hinted && nowMs >= record.hintAllowedAtMs) return 'notification';
    if (dueMs !== undefined && nowMs >= dueMs) return 'plan';
    const untilMs = wakeMs(record, dueMs, nowMs);
    if (untilMs === undefined) return undefined;
    const wasHinted = record.hinted;
    await condition(() => record.hinted !== wasHinted, untilMs - nowMs, { summary: 'looks again' });
  }
}

/** After the last look it stays for the pause of its last notification, so that a storm finds it here. */
function wakeMs(record: FollowUpRecord, dueMs: number | undefined, nowMs: number): number | undefined {
  const { hinted, hintAllowedAtMs } = record;
  if (hinted) return Math.min(dueMs ?? Number.POSITIVE_INFINITY, hintAllowedAtMs);
  return dueMs ?? (hintAllowedAtMs > nowMs ? hintAllowedAtMs : undefined);
}

function spendHint({ hintPauseMs: firstMs }: FollowUpPlan, record: FollowUpRecord): void {
  record.hintAllowedAtMs = Date.now() + hintPauseMs(firstMs, record.hintsSpent);
  record.hintsSpent += 1;
}

/** One question. What was heard before it is answered by it. */
async function look(
  request: FollowUpRequest,
  plan: FollowUpPlan,
  record: FollowUpRecord,
  because: string,
): Promise<void> {
  const { app, openId, clientId, partnerOrderId } = request;
  const caller = { environment: plan.environment, app, openId };
  const summary = `has money come back? (${because})`;
  const calls = spare({ ...plan, seller: clientId }, summary, checkTimeoutMs(request, plan, Date.now()));
  record.hinted = false;
  try {
    learned(request, record, await calls.fetchTradeDetail(caller, { clientId, partnerOrderId }));
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn('a look brought no answer; it is left at that until the next one');
    const { cause } = error;
    const told = cause instanceof ApplicationFailure ? cause.message : 'it was given up';
    record.notChecked = notChecked(told, record.notChecked, Date.now());
    show(followUpResult(request, record));
  }
  record.lookedAtMs = Date.now();
}

function learned(request: FollowUpRequest, record: FollowUpRecord, detail: TradeDetail | null): void {
  record.looks += 1;
  record.answeredAtMs = Date.now();
  record.notChecked = undefined;
  if (detail) record.returned = returnedPayments(request, detail, record.returned, record.answeredAtMs);
  record.differences = differencesSince(request, detail, record.differences, record.answeredAtMs);
  show(followUpResult(request, record));
}

/** What operators filter by, and what the daily report reads without asking each follow-up. */
function show(result: FollowUpResult): void {
  const { returned, returnedSums, differences } = result;
  const { searchAttributes, memo } = workflowInfo();
  const sums = returnedSums.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');
  const lines = [
    sums !== '' && `⚠ MONEY_RETURNED: ${sums} came back`,
    ...[...differences, ...(result.notChecked ? [result.notChecked] : [])].map(
      ({ code, message }) => `⚠ ${code}: ${message}`,
    ),
  ];
  setCurrentDetails(lines.filter((line) => line !== false).join('\n\n') || 'Nothing has changed.');
  const needsAttention = followUpNeedsAttention(result);
  if (needsAttention !== (searchAttributes['PayoutNeedsAttention']?.[0] === true))
    upsertSearchAttributes({ PayoutNeedsAttention: [needsAttention] });
  const seen = {
    returned: returned.map(({ distributeId, target, inResult, seenAt }) => ({
      ...{ distributeId, target, inResult, seenAt },
    })),
    differences: differences.map(({ code, seenAt }) => ({ code, seenAt })),
    ...(result.notChecked && { notChecked: { seenAt: result.notChecked.seenAt } }),
  };
  if (
    (needsAttention || memo?.['changes'] !== undefined) &&
    JSON.stringify(seen) !== JSON.stringify(memo?.['changes'])
  )
    upsertMemo({ changes: seen });
}

async function continueAsNewWhenLong(request: FollowUpRequest, record: FollowUpRecord): Promise<void> {
  if (!isHistoryLong()) return;
  await condition(allHandlersFinished);
  await continueAsNew<typeof payoutFollowUp>(request, record);
}
