/** Workflows whose workflow task keeps failing, as `list --attention` shows them: they cannot say it themselves. */

import type { ListedPayout } from '../../client/payout-list.ts';
import { payoutOf, payoutOfFollowUp } from '../../contract/ids.ts';
import type { AttentionOf, WorkflowAttentionCode } from '../../domain/attention-codes.ts';
import {
  describeFailingWorkflow,
  type FailingWorkflow,
  WORKFLOW_TASK_FAILS,
} from '../../domain/reconciliation.ts';
import { knownFailingWorkflows } from '../../temporal/failing-workflows.ts';
import type { Session } from './session.ts';

type Attention = AttentionOf<WorkflowAttentionCode>;

export interface StandingStill {
  row: ListedPayout;
  reasons: Attention[];
}

/** Payouts of `app` alone where it is given, and workflows that are no payout's in any case. */
export async function standingStill(
  { client, environment, soon }: Session,
  app?: string,
): Promise<StandingStill[]> {
  const failing = await soon(() => knownFailingWorkflows(client, environment ?? 'test'));
  const rows = (failing ?? []).map((one) => ({ row: rowOf(one), reasons: [reasonOf(one)] }));
  return rows.filter(({ row }) => app === undefined || row.app === '' || row.app === app);
}

/** One that is listed already is told with the reason that counts. */
export function isSame(one: ListedPayout, other: ListedPayout): boolean {
  const isFollowUp = ({ phase }: ListedPayout) => phase === 'FOLLOW_UP';
  return (
    one.partnerOrderId === other.partnerOrderId &&
    one.app === other.app &&
    isFollowUp(one) === isFollowUp(other)
  );
}

function rowOf({ workflowId, type }: FailingWorkflow): ListedPayout {
  const payout = payoutOf(workflowId) ?? payoutOfFollowUp(workflowId);
  return {
    partnerOrderId: payout?.partnerOrderId ?? workflowId,
    app: payout?.app ?? '',
    phase: type === 'payoutFollowUp' ? 'FOLLOW_UP' : '',
    outcome: '',
    needsAttention: true,
    orderId: '',
    auditStatus: '',
    startedAt: '',
    workflow: 'RUNNING',
  };
}

function reasonOf(one: FailingWorkflow): Attention {
  return { code: WORKFLOW_TASK_FAILS, message: `${one.workflowId}: ${describeFailingWorkflow(one)}` };
}
