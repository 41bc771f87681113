/** What Temporal alone knows about a payout while no worker runs: its search attributes, and when a worker last set them. */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { codesOf, PAYOUT_ATTENTION } from '../contract/attention-codes.ts';
import { AUDIT_STATUSES, PHASES } from '../contract/codes.ts';
import { compact } from '../contract/compact.ts';
import { ownIdOf } from '../contract/ids.ts';
import type { PayoutState } from '../contract/payout.ts';
import { lastEvents } from '../temporal/histories.ts';
import { NEEDS_ATTENTION, PHASE } from '../temporal/namespace.ts';

const ORDER_ID = defineSearchAttributeKey('PayoutOrderId', SearchAttributeType.KEYWORD);
const AUDIT_STATUS = defineSearchAttributeKey('PayoutAuditStatus', SearchAttributeType.KEYWORD);
const REASONS = defineSearchAttributeKey('PayoutReasons', SearchAttributeType.KEYWORD_LIST);

const LAST_EVENTS = 50;

/** `why`: a worker cannot be queried. */
export async function lastKnownState(
  client: Client,
  { workflowId, runId, startTime, typedSearchAttributes: known }: WorkflowExecutionDescription,
  why: string,
): Promise<PayoutState> {
  const phase = known.get(PHASE);
  const reasons = known.get(REASONS) ?? [];
  // The end of the last workflow task, if it is among the last events.
  const recorded = (await lastEvents(client, { workflowId, runId }, LAST_EVENTS)).find(
    ({ workflowTaskCompletedEventAttributes: task }) => task,
  );
  return {
    partnerOrderId: ownIdOf(workflowId),
    phase: PHASES.find((one) => one === phase) ?? 'CHECKING',
    sentence: `The last known phase is ${phase}: ${why}.`,
    nextStep: 'The payout continues when a worker runs.',
    needsAttention: known.get(NEEDS_ATTENTION) ?? false,
    reasons: codesOf(PAYOUT_ATTENTION)
      .filter((code) => reasons.includes(code))
      .map((code) => ({ code, message: PAYOUT_ATTENTION[code].meaning })),
    stale: true,
    asOf: (recorded?.eventTime ? new Date(tsToMs(recorded.eventTime)) : startTime).toISOString(),
    ...compact({
      orderId: known.get(ORDER_ID),
      auditStatus: AUDIT_STATUSES.find((one) => one === known.get(AUDIT_STATUS)),
    }),
  };
}
