/** The messages that a payout takes. */
import { condition, log, setHandler, workflowInfo } from '@temporalio/workflow';
import {
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
} from '../../contract/payout-messages.ts';
import type { PayoutState } from '../../domain/payout.ts';
import {
  deciderProblem,
  isRecord,
  notAccepted,
  onSignal,
  onUpdate,
  resolutionProblem,
  shielded,
} from '../shared/messages.ts';
import { adoptNamed } from './adopt-order.ts';
import type { PayoutRun } from './run.ts';
import { stateOf } from './show-state.ts';

export function installHandlers(run: PayoutRun): void {
  setHandler(stateQuery, () => stateOf(run));
  onSignal(notificationSignal, (notification) => acceptHint(run, notification));
  onUpdate(
    approveUpdate,
    (decision) => approve(run, decision),
    (decision) => decisionProblem(run, decision) ?? starterProblem(decision),
  );
  onUpdate(
    refuseUpdate,
    (decision) => refuse(run, decision),
    (decision) => decisionProblem(run, decision),
  );
  onUpdate(
    cancelUpdate,
    shielded((request) => cancel(run, request)),
    (request) => deciderProblem(request) ?? run.cancelProblem(),
  );
  onUpdate(
    pollUpdate,
    shielded(() => pollNow(run)),
    () => pollProblem(run),
  );
  installResolve(run);
}

/** A notification for this payout, or one that cannot be decoded, is a hint to query. One for another payout is ignored. */
function acceptHint(run: PayoutRun, notification: unknown): void {
  if (!isRecord(notification)) {
    log.warn('a notification could not be decoded; it counts as a hint without content');
  } else if (isForAnother(run, notification)) {
    log.warn('a notification names another payout; it is ignored');
    return;
  }
  run.record.hinted = true;
}

function isForAnother(run: PayoutRun, notification: Record<string, unknown>): boolean {
  const { orderId, partnerOrderId } = notification;
  const ours = run.prepared?.request.partnerOrderId;
  const ourOrder = run.record.order?.orderId;
  if (typeof partnerOrderId === 'string' && ours !== undefined) return partnerOrderId !== ours;
  return typeof orderId === 'string' && ourOrder !== undefined && orderId !== ourOrder;
}

function approve(run: PayoutRun, { by }: Decision): PayoutState {
  const { record } = run;
  if (record.quote) record.approved = { by, quote: record.quote };
  return stateOf(run);
}

function refuse(run: PayoutRun, { by, note }: Decision): PayoutState {
  const { record } = run;
  record.refused = { by, note };
  return stateOf(run);
}

function decisionProblem({ record }: PayoutRun, decision: Decision): string | undefined {
  const problem = deciderProblem(decision);
  if (problem) return problem;
  if (record.phase !== 'AWAITING_APPROVAL')
    return `the payout does not wait for approval: it is ${record.phase}`;
  return record.approved || record.refused ? 'it has been decided already' : undefined;
}

/** Checked here, so that it applies to every client: HTTP, the command line, an SDK or the Temporal UI. */
function starterProblem({ by }: Decision): string | undefined {
  const starter = workflowInfo().memo?.['startedBy'];
  const same = typeof starter === 'string' && starter.trim().toLowerCase() === by.trim().toLowerCase();
  return same ? 'the caller who started a payout cannot approve it' : undefined;
}

async function cancel(run: PayoutRun, { by, reason }: CancelRequest): Promise<PayoutState> {
  run.cancel(by, reason);
  await condition(() => run.record.phase === 'DONE' || run.record.cancelled === undefined);
  if (run.record.result?.outcome !== 'NOT_CREATED')
    throw notAccepted('the order exists, or may exist, after all: the cancellation had no effect');
  return stateOf(run);
}

async function pollNow(run: PayoutRun): Promise<PayoutState> {
  const before = run.record.asks;
  run.pollRequested = true;
  await condition(() => run.record.asks > before || run.record.phase === 'DONE');
  return stateOf(run);
}

function pollProblem({ record }: PayoutRun): string | undefined {
  if (record.phase === 'DONE') return 'the payout has ended';
  const { stage } = record.creation;
  return stage === 'quoting' || stage === 'sending' ? 'no order has been created yet' : undefined;
}

function installResolve(run: PayoutRun): void {
  let isComparing = false;
  const resolve = async (resolution: Resolution): Promise<PayoutState> => {
    if (!resolution.created) {
      run.resolution = resolution;
      return stateOf(run);
    }
    isComparing = true;
    try {
      const problem = await adoptNamed(run, resolution.orderId);
      if (problem) throw notAccepted(problem);
      return stateOf(run);
    } finally {
      isComparing = false;
    }
  };
  const problem = (resolution: Resolution): string | undefined => {
    const { creation, phase } = run.record;
    if (creation.stage !== 'review') return `there is nothing to resolve: the payout is ${phase}`;
    if (run.resolution || isComparing) return 'it has been resolved already';
    return resolutionProblem(resolution, 'orderId');
  };
  onUpdate(
    resolveUpdate,
    shielded(resolve),
    (resolution) => deciderProblem(resolution) ?? problem(resolution),
  );
}
