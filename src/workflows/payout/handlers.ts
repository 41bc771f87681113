/** The messages that a payout takes. Handlers never throw, except to refuse an update with its reason. */
import { CancellationScope, condition, log, setHandler, workflowInfo } from '@temporalio/workflow';
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
import { isRecord, onSignal } from '../shared/raw-signal.ts';
import { demand, named, notAccepted } from '../shared/refusals.ts';
import { adoptNamed } from './adopt-order.ts';
import type { PayoutRun } from './run.ts';
import { stateOf } from './show-state.ts';

/** Handlers run in the root scope, so each one that waits is shielded from Temporal's own cancellation. */
export function installHandlers(run: PayoutRun): void {
  setHandler(stateQuery, () => stateOf(run));
  onSignal(notificationSignal, (notification) => heard(run, notification));
  decisions(run);
  setHandler(pollUpdate, () => CancellationScope.nonCancellable(() => pollNow(run)), {
    validator: () => demand(canPoll(run)),
  });
}

function decisions(run: PayoutRun): void {
  const { record } = run;
  const decide = (apply: (decision: Decision) => void) => (decision: Decision) => {
    apply(decision);
    return stateOf(run);
  };
  const validator = (decision: Decision) => demand(named(decision) ?? canDecide(run));
  const byAnother = (decision: Decision) => demand(named(decision) ?? canDecide(run) ?? startedBy(decision));
  setHandler(
    approveUpdate,
    decide(({ by }) => {
      if (record.quote) record.approved = { by, quote: record.quote };
    }),
    { validator: byAnother },
  );
  setHandler(
    refuseUpdate,
    decide(({ by, note }) => {
      record.refused = { by, note };
    }),
    { validator },
  );
  setHandler(cancelUpdate, (request) => CancellationScope.nonCancellable(() => cancel(run, request)), {
    validator: (request) => demand(named(request) ?? run.cancelProblem()),
  });
  setHandler(
    resolveUpdate,
    (resolution) => CancellationScope.nonCancellable(() => resolve(run, resolution)),
    {
      validator: (resolution) => demand(named(resolution) ?? resolvable(run, resolution)),
    },
  );
}

/** A notification for this payout, or one that cannot be decoded, is a hint to ask. One for another payout is ignored. */
function heard(run: PayoutRun, notification: unknown): void {
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
  const ours = run.checkedRequest?.partnerOrderId;
  const ourOrder = run.record.order?.orderId;
  if (typeof partnerOrderId === 'string' && ours !== undefined) return partnerOrderId !== ours;
  return typeof orderId === 'string' && ourOrder !== undefined && orderId !== ourOrder;
}

async function pollNow(run: PayoutRun): Promise<PayoutState> {
  const before = run.record.asks;
  run.pollRequested = true;
  await condition(() => run.record.asks > before || run.record.phase === 'DONE');
  return stateOf(run);
}

async function cancel(run: PayoutRun, { by, reason }: CancelRequest): Promise<PayoutState> {
  run.cancel(by, reason);
  await condition(() => run.record.phase === 'DONE' || run.record.cancelled === undefined);
  if (run.record.result?.outcome !== 'NOT_CREATED')
    throw notAccepted('the order exists, or may exist, after all: the cancellation had no effect');
  return stateOf(run);
}

async function resolve(run: PayoutRun, resolution: Resolution): Promise<PayoutState> {
  if (!resolution.created) {
    run.resolution = resolution;
    return stateOf(run);
  }
  run.isResolving = true;
  try {
    const problem = await adoptNamed(run, resolution.orderId);
    if (problem) throw notAccepted(problem);
    return stateOf(run);
  } finally {
    run.isResolving = false;
  }
}

function canDecide({ record }: PayoutRun): string | undefined {
  if (record.phase !== 'AWAITING_APPROVAL')
    return `the payout does not wait for approval: it is ${record.phase}`;
  if (record.approved || record.refused) return 'it has been decided already';
  return undefined;
}

/** However it is asked: by HTTP, the command line, an SDK or the Temporal UI. */
function startedBy({ by }: Decision): string | undefined {
  const starter = workflowInfo().memo?.['startedBy'];
  const same = typeof starter === 'string' && starter.trim().toLowerCase() === by.trim().toLowerCase();
  return same ? 'the caller who started a payout cannot approve it' : undefined;
}

function canPoll({ record }: PayoutRun): string | undefined {
  if (record.phase === 'DONE') return 'the payout has ended';
  const { stage } = record.creation;
  return stage === 'quoting' || stage === 'sending' ? 'no order has been created yet' : undefined;
}

function resolvable(run: PayoutRun, resolution: Resolution): string | undefined {
  const { created } = resolution;
  if (run.record.creation.stage !== 'review')
    return `there is nothing to resolve: the payout is ${run.record.phase}`;
  if (run.resolution || run.isResolving) return 'it has been resolved already';
  if (created === true)
    return typeof resolution.orderId === 'string' && resolution.orderId !== ''
      ? undefined
      : 'orderId: is missing';
  if (created !== false) return 'created: must be true or false';
  return resolution.then === 'end' || resolution.then === 'retry' ? undefined : 'then: must be end or retry';
}
