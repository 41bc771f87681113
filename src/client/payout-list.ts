/** Payouts as operators look for them. Temporal's visibility answers, which lags the payouts by up to a few seconds. */
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { z } from 'zod';
import { appName, checkBody } from '../contract/payout-request.ts';
import { OUTCOMES, PHASES } from '../domain/payout.ts';
import { InvalidPayoutRequestError } from './invalid-request.ts';

const filterSchema = z.strictObject({
  app: appName.optional(),
  phase: z.enum(PHASES).optional(),
  outcome: z.enum(OUTCOMES).optional(),
  /** Only those that need somebody. */
  attention: z.boolean().optional(),
});

export type PayoutFilter = z.input<typeof filterSchema>;

/** The words are as last written at rest: empty where they never were. The phase of a follow-up is `FOLLOW_UP`. */
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
  /** Temporal's own word: RUNNING, COMPLETED, FAILED, … */
  workflow: string;
}

/** The newest first. Throws `InvalidPayoutRequestError` on a filter that means nothing. */
export async function* listPayouts(client: Client, filter: PayoutFilter = {}): AsyncGenerator<ListedPayout> {
  // Only known words get into the query, so there is nothing to escape.
  const known = checkBody(filterSchema, filter);
  if (!known.ok) throw new InvalidPayoutRequestError(known.errors);
  for await (const run of client.workflow.list({ query: queryOf(known.value) })) yield listed(run);
}

function queryOf({ phase, outcome, attention, app }: PayoutFilter): string {
  const parts = [
    // What needs somebody after its end is known to its follow-up.
    attention ? "WorkflowType IN ('payout', 'payoutFollowUp')" : "WorkflowType = 'payout'",
    // A payout that went on as new is one payout, shown by its latest run.
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
