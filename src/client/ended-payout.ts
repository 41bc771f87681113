/** Reads from Temporal what a follow-up needs to know about an ended payout. */
import type { Client } from '@temporalio/client';
import { payoutResultSchema } from '../contract/payout-answers.ts';
import { checkPayoutRequest } from '../contract/payout-request.ts';
import type { FollowUpRequest } from '../domain/follow-up.ts';
import { environmentOf } from '../temporal/run-environment.ts';
import { readStartEvent } from '../temporal/start-event.ts';

/** Undefined if the payout has not ended with an outcome. Throws Temporal's `WorkflowNotFoundError`, and `ZodError`. */
export async function endedPayout(client: Client, workflowId: string): Promise<FollowUpRequest | undefined> {
  const { runId, status, closeTime } = await client.workflow.getHandle(workflowId).describe();
  if (status.name !== 'COMPLETED' || !closeTime) return undefined;
  const result: unknown = await client.workflow.getHandle(workflowId, runId).result();
  const { outcome, splits } = payoutResultSchema.parse(result);
  const { argument, memo } = await readStartEvent(client, workflowId, runId);
  const request = checkPayoutRequest(argument);
  if (!request.ok) return undefined;
  const { app, openId, clientId, partnerOrderId } = request.value;
  const environment = await environmentOf(client, { workflowId, runId }, memo);
  const endedAtMs = closeTime.getTime();
  return { environment, app, openId, clientId, partnerOrderId, outcome, splits, endedAtMs };
}
