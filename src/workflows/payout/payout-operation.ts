/**
 * One call of the Nexus operation `pay`: starts or joins the payout, and returns its result. A payout whose run was
 * stopped has not ended, so this waits for the run that reconciliation starts (H10).
 *
 * The payout is a child so that this learns of its end at once. It continues if this workflow ends.
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
  workflowInfo,
} from '@temporalio/workflow';
import type { operationActivities } from '../../activities/payout/operation-activities.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import { startFactsIn, startMemo } from '../../contract/memo.ts';
import { formatMoney } from '../../contract/money.ts';
import type { PayoutResult } from '../../contract/payout.ts';
import type { PayoutOperation } from '../../contract/workflows.ts';
import { memoOfRequest } from '../../domain/listed-payout.ts';
import { HEARTBEAT_TIMEOUT, UNTIL_TEMPORAL_ANSWERS } from '../shared/calls.ts';
import { isProvenStart } from '../shared/run-facts.ts';
import type { payout } from './payout.ts';

const calls = proxyActivities<ReturnType<typeof operationActivities>>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: UNTIL_TEMPORAL_ANSWERS,
});

export async function payoutOperation(operation: PayoutOperation): Promise<PayoutResult> {
  const { cancelRequested } = CancellationScope.current();
  return CancellationScope.nonCancellable(async () => {
    const child = await begin(operation);
    const ended = outcome(operation, child);
    // A cancellation of a stopped run has no effect, so the activity cancels each run until one ends.
    const canceled = cancelRequested.catch(() => calls.payoutOutcome({ ...operation, canceled: true }));
    return Promise.race([ended, canceled]);
  });
}

async function outcome(operation: PayoutOperation, child: Child | undefined): Promise<PayoutResult> {
  const result = await child?.result().catch(() => {
    log.info("the payout's run was stopped or failed as bad input; waits for the payout's outcome");
  });
  return result ?? calls.payoutOutcome({ ...operation, canceled: false });
}

type Child = ChildWorkflowHandle<typeof payout>;

/** Undefined if the payout existed already, with the same body. */
async function begin(operation: PayoutOperation): Promise<Child | undefined> {
  const { environment, request, startedBy, hashes } = operation;
  const { app, partnerOrderId, instructedAmount } = request;
  const startedAt = new Date();
  const { rejectDuplicate: promise } = startFactsIn(workflowInfo().memo);
  try {
    return await startChild<typeof payout>('payout', {
      workflowId: payoutWorkflowId(app, partnerOrderId),
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      parentClosePolicy: ParentClosePolicy.ABANDON,
      args: [request],
      memo: startMemo({
        rejectDuplicate: isProvenStart(promise) && startedAt.toISOString(),
        environment,
        startedBy,
        ...memoOfRequest(request),
      }),
      typedSearchAttributes: [
        keyword('PayoutApp', app),
        keyword('PayoutPhase', 'CHECKING'),
        { key: STARTED_AT, value: startedAt },
        ...(hashes ? [{ key: KEYS, value: hashes }] : []),
      ],
      staticSummary: `payout of ${formatMoney(instructedAmount)}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    await calls.joinPayout(operation);
    return undefined;
  }
}

const STARTED_AT = defineSearchAttributeKey('PayoutStartedAt', SearchAttributeType.DATETIME);
const KEYS = defineSearchAttributeKey('PayoutKeys', SearchAttributeType.KEYWORD_LIST);

function keyword(name: string, value: string): SearchAttributePair {
  return { key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value };
}
