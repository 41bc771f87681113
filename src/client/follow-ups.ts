/**
 * What comes after the end of a payout: its follow-up, which finds what changes later, and the acknowledgement of its flags.
 * An acknowledgement covers what had been found by then: a follow-up that finds more needs attention again.
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { z } from 'zod';
import { storedReason } from '../contract/fields.ts';
import {
  PAYOUTS_TASK_QUEUE,
  payoutAcknowledgementWorkflowId,
  payoutFollowUpWorkflowId,
  payoutOf,
  payoutOfFollowUp,
  payoutWorkflowId,
} from '../contract/ids.ts';
import { type PayoutMemo, payoutMemoSchema } from '../contract/lists.ts';
import { startFactsIn, startMemo } from '../contract/memo.ts';
import { type Acknowledgement, type PayoutState, storedResultSchema } from '../contract/payout.ts';
import { readStoredRequest } from '../contract/payout-request.ts';
import type { FollowUpRequest, FollowUpResult } from '../contract/reconciliation.ts';
import {
  changesQuery,
  type Notification,
  notificationSignal,
  type WorkflowSignatures,
} from '../contract/workflows.ts';
import { memoOfRequest } from '../domain/listed-payout.ts';
import { followUpReasons } from '../domain/reconciliation-follow-up.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import { environmentOf, readStartEvent } from '../temporal/histories.ts';
import { APP } from '../temporal/namespace.ts';
import { ownMemo } from '../temporal/own-payloads.ts';
import { type ListedRun, listRunPages, quoteIds } from '../temporal/visibility.ts';
import { changesIn } from './ended-payouts.ts';
import { PayoutsError } from './errors.ts';
import { hashesAttribute } from './search.ts';

interface Ref {
  app: string;
  partnerOrderId: string;
}

/** What its follow-up is asked, and what lists show and find of it. */
export interface EndedPayout {
  request: FollowUpRequest;
  memo: PayoutMemo;
  hashes: string[] | undefined;
}

/** Undefined if the payout has not ended with an outcome. Throws Temporal's `WorkflowNotFoundError`, and `ZodError`. */
export async function endedPayout(client: Client, workflowId: string): Promise<EndedPayout | undefined> {
  const { runId, status, closeTime } = await client.workflow.getHandle(workflowId).describe();
  if (status.name !== 'COMPLETED' || !closeTime) return undefined;
  const result: unknown = await client.workflow.getHandle(workflowId, runId).result();
  const { outcome, splits, orderId } = storedResultSchema.parse(result);
  const { argument, memo, hashes } = await readStartEvent(client, workflowId, runId);
  const request = readStoredRequest(argument);
  if (!request.ok) return undefined;
  const { app, openId, clientId, payerId, partnerOrderId, metadata } = request.value;
  if (payoutWorkflowId(app, partnerOrderId) !== workflowId) return undefined;
  const followed = {
    environment: await environmentOf(client, { workflowId, runId }, memo),
    app,
    openId,
    clientId,
    payerId,
    partnerOrderId,
    outcome,
    splits,
    endedAtMs: closeTime.getTime(),
    ...(orderId !== undefined && { orderId }),
    ...(metadata && { metadata }),
  };
  const shown = { ...payoutMemoSchema.safeParse(startFactsIn(memo)).data, ...memoOfRequest(request.value) };
  return { request: followed, memo: shown, hashes };
}

/** Returns false if there already is a follow-up. With `again`, a stopped follow-up does not count. */
export async function startFollowUp(client: Client, ended: EndedPayout, again = false): Promise<boolean> {
  try {
    await client.workflow.start<WorkflowSignatures['payoutFollowUp']>('payoutFollowUp', {
      ...followUpOptions(ended),
      workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE_FAILED_ONLY' : 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/**
 * Starts the follow-up if it is not running, even after its end. Resolves when Temporal has accepted the notification.
 */
export async function notifyFollowUp(
  client: Client,
  ended: EndedPayout,
  notification: Notification,
): Promise<void> {
  const message = { signal: notificationSignal, signalArgs: [notification] as [Notification] };
  await client.workflow.signalWithStart<WorkflowSignatures['payoutFollowUp'], [Notification]>(
    'payoutFollowUp',
    { ...followUpOptions(ended), ...message },
  );
}

function followUpOptions({ request, memo, hashes }: EndedPayout) {
  const { app, partnerOrderId, environment } = request;
  return {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: payoutFollowUpWorkflowId(app, partnerOrderId),
    args: [request] as [FollowUpRequest],
    memo: startMemo({ ...memo, environment }),
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }, ...hashesAttribute(hashes)]),
    staticSummary: 'checks again after the end',
  };
}

/** What the follow-up of a payout found. Undefined if there is none, or Temporal no longer keeps it. */
export function followUpResultOf(
  client: Client,
  { app, partnerOrderId }: Ref,
): Promise<FollowUpResult | undefined> {
  const handle = client.workflow.getHandle(payoutFollowUpWorkflowId(app, partnerOrderId));
  return unlessGone(() => handle.query(changesQuery));
}

const memoSchema = z.object({
  by: z.string(),
  note: z.string().exactOptional(),
  reasons: z.array(storedReason),
  /** The run of the payout that ended: after a Workflow Reset, another one ends. */
  payoutRunId: z.string(),
  /** When the follow-up had last found something. Unix milliseconds. */
  foundMs: z.number(),
});
type Memo = z.output<typeof memoSchema>;

/** The latest acknowledgement of the end of this run; undefined if there is none. */
async function acknowledgementOf(
  client: Client,
  { app, partnerOrderId }: Ref,
  payoutRunId: string,
): Promise<(Memo & { at: string }) | undefined> {
  const workflowId = payoutAcknowledgementWorkflowId(app, partnerOrderId);
  const known = await unlessGone(() => client.workflow.getHandle(workflowId).describe());
  if (!known) return undefined;
  const memo = await ownMemo(client, workflowId, known.raw.workflowExecutionInfo?.memo);
  const given = memoSchema.safeParse(memo['acknowledgement']).data;
  return given?.payoutRunId === payoutRunId ? { ...given, at: known.startTime.toISOString() } : undefined;
}

/** The state of a payout that has ended, without the flags that were acknowledged. */
export async function withoutAcknowledged(
  client: Client,
  ref: Ref,
  payoutRunId: string,
  state: PayoutState,
): Promise<PayoutState> {
  const found = await acknowledgementOf(client, ref, payoutRunId);
  if (!found) return state;
  return { ...state, needsAttention: false, reasons: [], acknowledged: shownOf(found) };
}

function shownOf({ by, at, note, reasons }: Memo & { at: string }): Acknowledgement {
  return { by, at, ...(note !== undefined && { note }), reasons };
}

/**
 * Reads what the follow-up has found that was not acknowledged, when it last found something, all that came back, and who
 * acknowledged what it had found.
 */
export async function openFindings(client: Client, ref: Ref, payoutRunId: string) {
  const followUp = await followUpResultOf(client, ref);
  const reasons = followUp ? followUpReasons(followUp) : [];
  if (!followUp || reasons.length === 0)
    return { reasons: [], foundMs: 0, returned: [], acknowledged: undefined };
  const { returned } = followUp;
  const foundMs = lastFoundMs(followUp);
  const known = await acknowledgementOf(client, ref, payoutRunId);
  const acknowledged = known && shownOf(known);
  return { reasons: known && known.foundMs >= foundMs ? [] : reasons, foundMs, returned, acknowledged };
}

interface NewAcknowledgement extends Ref {
  environment: string | undefined;
  by: string;
  note: string | undefined;
  /** ISO 8601. */
  readAt: string | undefined;
  /** The flags of the payout itself that were not acknowledged. */
  reasons: PayoutState['reasons'];
  payoutRunId: string;
}

/**
 * Does nothing if neither the payout nor its follow-up has a flag that was not acknowledged. Throws a `PayoutsError` with
 * `NOT_ACCEPTED_NOW` if the follow-up has found more since `readAt` (H208).
 */
export async function acknowledge(client: Client, given: NewAcknowledgement): Promise<void> {
  const { app, partnerOrderId, environment, by, note, readAt, payoutRunId } = given;
  const found = await openFindings(client, given, payoutRunId);
  if (readAt !== undefined && found.reasons.length > 0 && found.foundMs > Date.parse(readAt))
    throw new PayoutsError('NOT_ACCEPTED_NOW', 'readAt: the follow-up has found more since');
  const reasons = [...given.reasons, ...found.reasons].map(({ code, message }) => ({ code, message }));
  if (reasons.length === 0) return;
  const acknowledgement: Memo = {
    by,
    payoutRunId,
    foundMs: found.foundMs,
    ...(note !== undefined && { note }),
    reasons,
  };
  await client.workflow.start<WorkflowSignatures['payoutAcknowledgement']>('payoutAcknowledgement', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: payoutAcknowledgementWorkflowId(app, partnerOrderId),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    args: [],
    memo: { ...startMemo({ environment }), acknowledgement },
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
    staticSummary: 'the flags of an ended payout were acknowledged',
  });
}

/** Finds the payouts and follow-ups in `runs` whose flags were acknowledged. */
export async function acknowledgedRuns(client: Client, runs: readonly ListedRun[]): Promise<Set<ListedRun>> {
  const flagged = runs.flatMap((run) => {
    const ref = payoutOf(run.workflowId) ?? payoutOfFollowUp(run.workflowId);
    if (!ref || run.attribute('PayoutNeedsAttention') !== true) return [];
    if (run.type === 'payout' && !run.isCompleted) return [];
    return [{ run, id: payoutAcknowledgementWorkflowId(ref.app, ref.partnerOrderId) }];
  });
  const found = new Set<ListedRun>();
  if (flagged.length === 0) return found;
  const memos = await memosOf(client, [...new Set(flagged.map(({ id }) => id))]);
  for (const { run, id } of flagged) {
    const isSeen = run.type === 'payout' ? isOfRun(run) : await isFoundBefore(run);
    if (memos.get(id)?.some(isSeen)) found.add(run);
  }
  return found;
}

const PAGE_SIZE = 100;

async function memosOf(client: Client, ids: readonly string[]): Promise<Map<string, Memo[]>> {
  const memos = new Map<string, Memo[]>();
  const query = `WorkflowType = 'payoutAcknowledgement' AND WorkflowId IN (${quoteIds(ids)})`;
  for await (const page of listRunPages(client, query, PAGE_SIZE))
    for (const run of page) {
      // A memo of a key that this process does not have acknowledges nothing.
      const read = await run.ownMemo().catch(() => undefined);
      const memo = memoSchema.safeParse(read?.['acknowledgement']).data;
      if (memo) memos.set(run.workflowId, [...(memos.get(run.workflowId) ?? []), memo]);
    }
  return memos;
}

function isOfRun({ runId }: ListedRun) {
  return ({ payoutRunId }: Memo) => payoutRunId === runId;
}

async function isFoundBefore(followUp: ListedRun) {
  const changes = await changesIn(followUp);
  return ({ foundMs }: Memo) => changes !== undefined && lastFoundMs(changes) <= foundMs;
}

interface Found {
  returned: readonly { seenAt: string }[];
  differences: readonly { seenAt: string }[];
  notChecked?: { seenAt: string } | undefined;
}

/** When the follow-up last found something. Unix milliseconds; 0 if it has found nothing. */
export function lastFoundMs({ returned, differences, notChecked }: Found): number {
  const all = [...returned, ...differences, ...(notChecked ? [notChecked] : [])];
  return Math.max(0, ...all.map(({ seenAt }) => Date.parse(seenAt)));
}
