/**
 * Checks a payout again after its end, because money may come back: at the times of PAYOUTS_FOLLOW_UP and after a late
 * notification. It fetches only the split detail, with the lowest priority. It never changes the payout's result but
 * returns what changed since.
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
  workflowInfo,
} from '@temporalio/workflow';
import type { FollowUpRequest, FollowUpResult } from '../../contract/reconciliation.ts';
import { changesQuery, notificationSignal } from '../../contract/workflows.ts';
import { publishFollowUp } from '../../domain/events.ts';
import {
  checkTimeoutMs,
  differencesSince,
  type FollowUpPlan,
  FollowUpRecord,
  followUpReasons,
  followUpResult,
  hintPauseMs,
  nextCheckMs,
  notChecked,
  returnedPayments,
} from '../../domain/reconciliation-follow-up.ts';
import { flagLines, showAttention } from '../shared/attention.ts';
import { checks, followUpCalls, orBadInput, temporalCalls } from '../shared/calls.ts';
import { onSignal } from '../shared/messages.ts';
import { Publisher } from '../shared/publish-events.ts';
import { carriedOver, continueAsNewWhenLong, RunHistory } from '../shared/run-facts.ts';

export async function payoutFollowUp(
  request: FollowUpRequest,
  carried?: FollowUpRecord,
): Promise<FollowUpResult> {
  const record = carriedOver(carried) ?? new FollowUpRecord();
  const history = new RunHistory();
  let plan: FollowUpPlan | undefined;
  const { app, metadata } = request;
  const publisher = new Publisher(record.log, () => plan && { ...plan, app, metadata });
  setHandler(changesQuery, () => followUpResult(request, record));
  // A notification is only a hint to check, whatever it says.
  onSignal(notificationSignal, () => {
    record.hinted = true;
  });
  plan = await orBadInput(checks.prepareFollowUp(request));
  await follow({ request, record, publisher, history }, plan);
  await publisher.end();
  return followUpResult(request, record);
}

interface FollowUp {
  request: FollowUpRequest;
  record: FollowUpRecord;
  publisher: Publisher;
  history: RunHistory;
}

async function follow(followUp: FollowUp, plan: FollowUpPlan): Promise<void> {
  const { request, record, publisher, history } = followUp;
  const { app, partnerOrderId, endedAtMs } = request;
  for (;;) {
    const reason = await nextCheck(request, plan, record);
    const end = await temporalCalls.payoutEnd({ environment: plan.environment, app, partnerOrderId });
    // The payout was reset and is open again: its next end gets a follow-up.
    if (end.kind === 'open') return;
    // After a Workflow Reset of the payout, another end has replaced this one.
    if (end.kind === 'ended' && end.ended.endedAtMs !== endedAtMs) {
      await publisher.settle();
      await condition(allHandlersFinished);
      const { events } = record.log;
      const log = { events, published: {} };
      await continueAsNew<typeof payoutFollowUp>(end.ended, { ...new FollowUpRecord(), log, hinted: true });
    }
    if (reason === undefined) return;
    if (reason === 'notification') {
      record.hintAllowedAtMs = Date.now() + hintPauseMs(plan.hintPauseMs, record.hintedQueries);
      record.hintedQueries += 1;
    }
    await check(followUp, plan, reason);
    await publisher.settle();
    await continueAsNewWhenLong<typeof payoutFollowUp>(history, () => [request, record]);
  }
}

/** Waits for a reason to check; undefined after the last check. */
async function nextCheck(
  request: FollowUpRequest,
  plan: FollowUpPlan,
  record: FollowUpRecord,
): Promise<'plan' | 'notification' | undefined> {
  for (;;) {
    const nowMs = Date.now();
    const dueMs = nextCheckMs(request, plan, record.checkedAtMs);
    // Hints come first, so that each one lengthens the pause: otherwise a flood of them would start run after run.
    if (record.hinted && nowMs >= record.hintAllowedAtMs) return 'notification';
    if (dueMs !== undefined && nowMs >= dueMs) return 'plan';
    const { hinted, hintAllowedAtMs } = record;
    // After the last check, the workflow stays open for the pause of the last hint, so that a flood of hints meets it.
    if (dueMs === undefined && !hinted && hintAllowedAtMs <= nowMs) return undefined;
    const untilMs = hinted ? Math.min(dueMs ?? hintAllowedAtMs, hintAllowedAtMs) : (dueMs ?? hintAllowedAtMs);
    const summary = 'checks the payout again';
    await condition(() => record.hinted !== hinted, untilMs - nowMs, { summary });
  }
}

/** One call, which also answers every hint that came before it. */
async function check(followUp: FollowUp, plan: FollowUpPlan, reason: string): Promise<void> {
  const { request, record } = followUp;
  const { app, openId, clientId, partnerOrderId } = request;
  const principal = { environment: plan.environment, app, openId };
  const summary = `checks for returned money (${reason})`;
  // The response may reach the workflow late. What it says holds for the time of its query.
  const queriedAtMs = Date.now();
  const timeoutMs = checkTimeoutMs(request, plan, queriedAtMs);
  const calls = followUpCalls({ ...plan, onBehalfOf: clientId }, summary, timeoutMs);
  record.hinted = false;
  try {
    const detail = await calls.fetchTradeDetail(principal, { clientId, partnerOrderId });
    record.checks += 1;
    record.confirmedAtMs = queriedAtMs;
    // A change belongs to the day on which the workflow sees it: the report of an earlier day may be made already.
    const seenAtMs = Date.now();
    record.notChecked = undefined;
    if (detail) record.returned = returnedPayments(request, detail, record.returned, seenAtMs);
    record.differences = differencesSince(request, detail, record.differences, seenAtMs);
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn('a check got no response; the follow-up waits for the next one');
    const { cause } = error;
    const why = cause instanceof ApplicationFailure ? cause.message : 'it timed out';
    record.notChecked = notChecked(why, record.notChecked, Date.now());
  }
  show(followUp);
  record.checkedAtMs = queriedAtMs;
}

/** Shows the result in the Temporal UI. The daily report reads it from the memo, without a query to each follow-up. */
function show({ request, record, publisher }: FollowUp): void {
  const result = followUpResult(request, record);
  const { returned, differences } = result;
  const { memo } = workflowInfo();
  const reasons = followUpReasons(result);
  setCurrentDetails(flagLines(reasons).join('\n\n') || 'Nothing has changed.');
  showAttention(reasons);
  const seen = {
    returned: returned.map(({ distributeId, target, inResult, seenAt }) => {
      return { distributeId, target, inResult, seenAt };
    }),
    differences: differences.map(({ code, seenAt }) => ({ code, seenAt })),
    ...(result.notChecked && { notChecked: { seenAt: result.notChecked.seenAt } }),
  };
  if (
    (reasons.length > 0 || memo?.['changes'] !== undefined) &&
    JSON.stringify(seen) !== JSON.stringify(memo?.['changes'])
  )
    upsertMemo({ changes: seen });
  publisher.publish((published, publish) => publishFollowUp(published, request, result, publish));
}

/**
 * Records that an operator has seen the flags of a payout that has ended. A closed workflow cannot change its search
 * attributes, so those of the payout stay, and lists leave it out because of this workflow. Its memo has everything.
 */
export async function payoutAcknowledgement(): Promise<void> {}
