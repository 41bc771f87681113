/** Lists payouts from Temporal's visibility store, which lags by up to a few seconds. */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { z } from 'zod';
import { appName, checkBody } from '../contract/payout-request.ts';
import { OUTCOMES, PHASES } from '../domain/payout.ts';
import { requireValid } from './invalid-request.ts';

const filterSchema = z.strictObject({
  app: appName.optional(),
  phase: z.enum(PHASES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  /** Only payouts with the attention flag. */
  attention: z.boolean().optional(),
});

export type PayoutFilter = z.input<typeof filterSchema>;

/**
 * The fields are as of the last update of the search attributes; empty if never set. The phase of a follow-up is
 * `FOLLOW_UP`.
 */
export interface ListedPayout {
  partnerOrderId: string;
  app: string;
  phase: string;
  outcome: string;
  needsAttention: boolean;
  orderId: string;
  auditStatus: string;
  /** ISO 8601. */
  startedAt: string;
  /** Temporal's status of the workflow: RUNNING, COMPLETED, FAILED, … */
  workflow: string;
}

/** Lists payouts, newest first. Throws `InvalidPayoutRequestError` for an invalid filter. */
export async function* listPayouts(client: Client, filter: PayoutFilter = {}): AsyncGenerator<ListedPayout> {
  // The query contains only validated values, so nothing needs escaping.
  const query = queryOf(requireValid(checkBody(filterSchema, filter)));
  for await (const run of client.workflow.list({ query })) yield listed(run);
}

function queryOf({ phase, outcome, attention, app }: PayoutFilter): string {
  const parts = [
    // After the end of a payout, its follow-up has the attention flag.
    attention ? "WorkflowType IN ('payout', 'payoutFollowUp')" : "WorkflowType = 'payout'",
    // A continued-as-new payout is listed once, by its latest run.
    "ExecutionStatus != 'ContinuedAsNew'",
    phase !== undefined && `PayoutPhase = '${phase}'`,
    outcome !== undefined && `PayoutOutcome = '${outcome}'`,
    attention && 'PayoutNeedsAttention = true',
    app !== undefined && `PayoutApp = '${app}'`,
  ];
  return parts.filter((part) => typeof part === 'string').join(' AND ');
}

function listed(run: WorkflowExecutionInfo): ListedPayout {
  const attribute = (name: string) => run.searchAttributes[name]?.[0];
  const text = (name: string) => String(attribute(name) ?? '');
  return {
    partnerOrderId: run.workflowId.split(':').slice(2).join(':'),
    app: text('PayoutApp'),
    phase: run.type === 'payoutFollowUp' ? 'FOLLOW_UP' : text('PayoutPhase'),
    outcome: text('PayoutOutcome'),
    needsAttention: attribute('PayoutNeedsAttention') === true,
    orderId: text('PayoutOrderId'),
    auditStatus: text('PayoutAuditStatus'),
    startedAt: run.startTime.toISOString(),
    workflow: run.status.name,
  };
}
