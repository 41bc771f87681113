/** The messages that a payout takes. */
import type { UpdateDefinition } from '@temporalio/common';
import { condition, log, setHandler, workflowInfo } from '@temporalio/workflow';
import { TOLERANCE, TOLERANCE_RULE } from '../../contract/codes.ts';
import { starterIn } from '../../contract/memo.ts';
import type { MadeDecision, PayoutState } from '../../contract/payout.ts';
import {
  type ApprovalDecision,
  approveUpdate,
  type CancelRequest,
  cancelUpdate,
  type Decision,
  notificationSignal,
  pollUpdate,
  type Resolution,
  refuseUpdate,
  resolveUpdate,
  stateQuery,
} from '../../contract/workflows.ts';
import { coveredTerms } from '../../domain/payout-quote.ts';
import {
  foundOrderIds,
  type PayoutRecord,
  repeatsLast,
  undisprovedOrders,
} from '../../domain/payout-record.ts';
import { isStarter } from '../../domain/permissions.ts';
import { isoTime } from '../../domain/time.ts';
import { deciderProblem, isRecord, notAccepted, onSignal, onUpdate, shielded } from '../shared/messages.ts';
import { isFirstRun, isSameSet, notShown, resolveProblem } from '../shared/uncertain-send.ts';
import { adoptNamed } from './adopt-order.ts';
import { awaitsNextStep } from './quote.ts';
import type { PayoutRun } from './run.ts';
import { noteNotification, stateOf } from './show-state.ts';

export function installHandlers(run: PayoutRun): void {
  setHandler(stateQuery, () => stateOf(run));
  onSignal(notificationSignal, (notification) => acceptHint(run, notification));
  onDecision(run, 'approve', approveUpdate, approve, approvalProblem);
  onDecision(run, 'refuse', refuseUpdate, refuse, decisionProblem);
  onDecision(run, 'cancel', cancelUpdate, cancel, cancelProblem);
  onDecision(run, 'resolve', resolveUpdate, resolve, resolutionProblem);
  onUpdate(run, pollUpdate, shielded(poll), pollProblem);
}

/**
 * A decision returns the state that it led to, so its handler waits until the steps have acted on it. One that cannot count
 * now, but repeats the latest one of its kind, changes nothing and waits like the first.
 */
function onDecision<D extends { by: string }>(
  run: PayoutRun,
  action: MadeDecision['action'],
  update: UpdateDefinition<PayoutState, [D]>,
  handle: (run: PayoutRun, decision: D) => void | Promise<void>,
  problem: (run: PayoutRun, decision: D) => string | undefined,
): void {
  const isRepeated = (decision: D) => {
    const { resolution, record } = run;
    return repeatsLast([...record.decisions, ...(resolution ? [resolution.made] : [])], action, decision);
  };
  const decide = async (_run: PayoutRun, decision: D) => {
    // It repeats a decision that is being carried out.
    if (action === 'resolve' && run.isResolving) await condition(() => !run.isResolving);
    if (!isRepeated(decision) || problem(run, decision) === undefined) await handle(run, decision);
    await (action === 'resolve' ? carriedOut(run) : condition(() => !awaitsNextStep(run.record)));
    return stateOf(run);
  };
  onUpdate(run, update, shielded(decide), (_run, decision) =>
    isRepeated(decision) ? undefined : problem(run, decision),
  );
}

/** Refuses the update if the review could not carry out the decision. */
async function carriedOut(run: PayoutRun): Promise<void> {
  const { resolution, record } = run;
  if (!resolution) return;
  await condition(() => run.resolution !== resolution);
  if (record.decisions.includes(resolution.made)) return;
  const { creation, order } = record;
  throw notAccepted(
    creation.stage === 'review'
      ? creation.reason
      : `order ${order?.orderId} exists: the payout tracks it now`,
  );
}

function made<D extends Omit<MadeDecision, 'at'>>(decision: D): D & Pick<MadeDecision, 'at'> {
  return { ...decision, at: isoTime(Date.now()) };
}

/** A notification for this payout, or one that cannot be decoded, is a hint to query. One for another payout is ignored. */
function acceptHint(run: PayoutRun, notification: unknown): void {
  if (!isRecord(notification)) {
    log.warn('a notification could not be decoded; it counts as a hint without content');
  } else if (isForAnother(run, notification)) {
    log.warn('a notification names another payout; it is ignored');
    return;
  }
  const receivedAt = isRecord(notification) ? notification['receivedAt'] : undefined;
  if (typeof receivedAt === 'string') run.record.notifiedAtMs = Date.parse(receivedAt);
  noteNotification(run.prepared?.request.app);
  run.record.hinted = true;
}

function isForAnother(run: PayoutRun, notification: Record<string, unknown>): boolean {
  const { orderId, partnerOrderId } = notification;
  const ours = run.prepared?.request.partnerOrderId;
  const { order } = run.record;
  if (typeof partnerOrderId === 'string' && ours !== undefined) return partnerOrderId !== ours;
  return typeof orderId === 'string' && !!order && ![order.orderId, order.tradeOrderId].includes(orderId);
}

function approve(run: PayoutRun, { by, note, tolerance }: ApprovalDecision): void {
  const { quote } = run.record;
  if (!quote) return;
  const { lockRateId, pay, fee, target } = quote;
  const seen = { pay, fee, target };
  const covers = coveredTerms(seen, tolerance);
  run.record.approved = { by, covers };
  const given = { ...(note !== undefined && { note }), ...(tolerance !== undefined && { tolerance }) };
  run.keep(made({ action: 'approve', by, lockRateId, seen, covers, ...given }));
}

/** Checked here, so that it applies to every client: HTTP, the command line, an SDK or the Temporal UI. */
function approvalProblem(run: PayoutRun, decision: ApprovalDecision): string | undefined {
  const problem = decisionProblem(run, decision);
  if (problem) return problem;
  const { tolerance, lockRateId } = decision;
  if (tolerance !== undefined && !(typeof tolerance === 'string' && TOLERANCE.test(tolerance)))
    return `tolerance: ${TOLERANCE_RULE}`;
  // The approver may have read an earlier quote: of this run, or of a run before it.
  const isApprovedEarlier = run.record.decisions.some(({ action }) => action === 'approve');
  if (lockRateId === undefined && (isApprovedEarlier || !isFirstRun()))
    return 'lockRateId: is required, because the quote may not be the first one: read the state again';
  return isByStarter(decision) ? 'the caller who started a payout cannot approve it' : undefined;
}

function isByStarter({ by }: { by: string }): boolean {
  return isStarter({ name: by }, starterIn(workflowInfo().memo));
}

function refuse(run: PayoutRun, { by, note }: Decision): void {
  const { record } = run;
  record.refused = { by, note };
  run.keep(made({ action: 'refuse', by, ...(note !== undefined && { note }) }));
}

function decisionProblem({ record }: PayoutRun, decision: Decision): string | undefined {
  const problem = deciderProblem(decision);
  if (problem) return problem;
  if (record.phase !== 'AWAITING_APPROVAL')
    return `the payout does not wait for approval: it is ${record.phase}`;
  if (record.approved || record.refused) return 'the payout has already been approved or refused';
  if (record.canceled) return 'the payout is being canceled';
  // The payout may still check whether it may end without an order.
  if ((record.approvalExpiresAtMs ?? Number.POSITIVE_INFINITY) <= Date.now())
    return 'the approval has expired';
  const { lockRateId: current } = record.quote ?? {};
  return decision.lockRateId === undefined || decision.lockRateId === current
    ? undefined
    : `lockRateId: the current quote is ${current}: read the state again`;
}

async function cancel(run: PayoutRun, { by, reason }: CancelRequest): Promise<void> {
  const { record } = run;
  const decision = made({ action: 'cancel', by, ...(reason !== undefined && { note: reason }) });
  if (!record.canceled) run.keep(decision);
  run.cancel(by, reason);
  await condition(() => record.phase === 'DONE' || record.canceled === undefined);
  if (record.result?.outcome === 'NOT_CREATED') return;
  record.decisions = record.decisions.filter((one) => one !== decision);
  throw notAccepted('the cancellation had no effect: the order exists, or may exist');
}

function cancelProblem(run: PayoutRun, request: CancelRequest): string | undefined {
  return deciderProblem(request) ?? run.cancelProblem();
}

/** Returns the state after a query that began later: one that was under way says nothing about the time of the poll. */
async function poll(run: PayoutRun): Promise<PayoutState> {
  const { record } = run;
  const isOver = () => pollProblem(run) !== undefined;
  run.pollRequested = true;
  await condition(() => !run.pollRequested || isOver());
  const before = record.queries;
  await condition(() => record.queries > before || isOver());
  return stateOf(run);
}

function pollProblem({ record }: PayoutRun): string | undefined {
  if (record.phase === 'DONE') return 'the payout has ended';
  // It waits to ask for a quote again.
  if (record.quoteRefusals > 0) return undefined;
  const { stage } = record.creation;
  return stage === 'quoting' || stage === 'sending' ? 'no order has been created yet' : undefined;
}

/** A decision that no order was created is left to the review, which first asks the provider once more. */
async function resolve(run: PayoutRun, resolution: Resolution): Promise<void> {
  const { record } = run;
  const common = made({ action: 'resolve', by: resolution.by, sends: record.sends });
  if (!resolution.created) {
    const decision = { ...common, created: false, then: resolution.then };
    run.resolution = { decision: resolution, made: decision, knownOrderIds: foundOrderIds(record) };
    return;
  }
  run.isResolving = true;
  try {
    const { orderId, tradeOrderId } = resolution;
    const problem = await adoptNamed(run, { orderId, tradeOrderId });
    if (problem) throw notAccepted(problem);
    run.keep({ ...common, created: true, orderId, ...(tradeOrderId !== undefined && { tradeOrderId }) });
  } finally {
    run.isResolving = false;
  }
}

function resolutionProblem(run: PayoutRun, resolution: Resolution): string | undefined {
  const problem = resolveProblem(run, 'payout', 'orderId', resolution);
  if (problem) return problem;
  if (isByStarter(resolution)) return 'the caller who started a payout cannot resolve its review';
  return reviewedOrdersProblem(run.record, resolution);
}

/**
 * A decision that no order was created must name an order that may be this payout's. A trade belongs to the order only if
 * the provider has named it.
 */
function reviewedOrdersProblem(record: PayoutRecord, resolution: Resolution): string | undefined {
  const shown = foundOrderIds(record);
  if (resolution.created) {
    const { tradeOrderId } = resolution;
    const isShown = tradeOrderId === undefined || shown.includes(tradeOrderId);
    return isShown ? undefined : notShown('tradeOrderId', shown);
  }
  const { reviewedOrderIds } = resolution;
  if (reviewedOrderIds !== undefined)
    return isSameSet(reviewedOrderIds, shown) ? undefined : notShown('reviewedOrderIds', shown);
  const [unread] = undisprovedOrders(record);
  return unread === undefined
    ? undefined
    : `reviewedOrderIds: must name order ${unread} if the provider confirms that it is not this payout's`;
}
