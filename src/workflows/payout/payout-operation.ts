/**
 * One call of the Nexus operation `pay`: starts the payout or joins it, and ends as it ends. A payout whose run is
 * stopped has not ended, so this waits for the run by which reconciliation goes on (H10).
 *
 * The payout is a child only so that its end is heard at once: it lives on whatever becomes of this.
 */
import {
  defineSearchAttributeKey,
  type SearchAttributePair,
  SearchAttributeType,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import {
  CancellationScope,
  type ChildWorkflowHandle,
  log,
  ParentClosePolicy,
  proxyActivities,
  startChild,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import type { OperationActivities } from '../../activities/payout/operation-activities.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import type { PayoutOperation } from '../../contract/workflows.ts';
import type { PayoutResult } from '../../domain/payout.ts';
import { UNTIL_TEMPORAL_ANSWERS } from '../shared/retry-policies.ts';
import type { payout } from './payout.ts';

const calls = proxyActivities<OperationActivities>({
  startToCloseTimeout: '2m',
  // A worker that was killed is noticed this soon.
  heartbeatTimeout: '8s',
  retry: UNTIL_TEMPORAL_ANSWERS,
});

export async function payoutOperation(operation: PayoutOperation): Promise<PayoutResult> {
  const { cancelRequested } = CancellationScope.current();
  return CancellationScope.nonCancellable(async () => {
    const child = await begin(operation);
    const ended = outcome(operation, child);
    // Temporal takes a cancellation of a stopped run and does nothing, so this asks each run until one ends.
    const cancelled = cancelRequested.catch(() => calls.payoutOutcome({ ...operation, cancelled: true }));
    return Promise.race([ended, cancelled]);
  });
}

async function outcome(operation: PayoutOperation, child: Child | undefined): Promise<PayoutResult> {
  return (await resultOf(child)) ?? calls.payoutOutcome({ ...operation, cancelled: false });
}

type Child = ChildWorkflowHandle<typeof payout>;

/** Undefined: it was there already, with the same body. */
async function begin(operation: PayoutOperation): Promise<Child | undefined> {
  const { environment, request } = operation;
  const { app, partnerOrderId, instructedAmount } = request;
  try {
    return await startChild<typeof payout>('payout', {
      workflowId: payoutWorkflowId(app, partnerOrderId),
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      parentClosePolicy: ParentClosePolicy.ABANDON,
      args: [request],
      memo: { rejectDuplicate: true, environment },
      typedSearchAttributes: [keyword('PayoutApp', app), keyword('PayoutPhase', 'CHECKING')],
      staticSummary: `payout of ${instructedAmount.amount} ${instructedAmount.currency}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    await calls.joinPayout(operation);
    return undefined;
  }
}

function keyword(name: string, value: string): SearchAttributePair {
  return { key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value };
}

/** Undefined where this run has no result: whether the payout has ended is found out otherwise. */
async function resultOf(child: Child | undefined): Promise<PayoutResult | undefined> {
  try {
    return await child?.result();
  } catch {
    log.info("the payout's run was stopped, or refused as bad input; looks what becomes of the payout");
    return undefined;
  }
}
