/** What the Nexus operation asks of Temporal about a payout that it did not start, or whose run was stopped. */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ApplicationFailureCategory } from '@temporalio/common';
import { badInputFailure } from '../../client/bad-input.ts';
import { PayoutConflictError, Payouts } from '../../client/payouts.ts';
import type { WorkerConfig } from '../../config/config.ts';
import { INVALID_PAYOUT_REQUEST, PAYOUT_CONFLICT, PAYOUT_IS_GONE } from '../../contract/failure-types.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import { payoutResultSchema } from '../../contract/payout-answers.ts';
import type { PayoutOperation } from '../../contract/workflows.ts';
import type { PayoutResult } from '../../domain/payout.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { isGone } from '../../temporal/client-errors.ts';
import { decisiveRun } from '../../temporal/decisive-run.ts';
import { onlyHere } from '../aftercare/reconcile-activities.ts';

/** `cancelled`: the caller cancelled the operation. */
export type OutcomeQuestion = PayoutOperation & { cancelled: boolean };

export interface OperationActivities {
  /** As any starter does: fails as `PayoutConflict` where the number belongs to another body. */
  joinPayout(operation: PayoutOperation): Promise<void>;
  /**
   * Fails, to be tried again later, until the payout has ended; as `InvalidPayoutRequest` where it was bad input. While
   * the operation is cancelled, asks each open run to cancel.
   */
  payoutOutcome(question: OutcomeQuestion): Promise<PayoutResult>;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
const GROWTH = 1.6;

export function operationActivities(
  { env }: WorkerConfig,
  client: Client,
  clock: Clock,
): OperationActivities {
  const environment = env.PAYMENTS_ENVIRONMENT;
  const here = onlyHere(environment, clock);
  const payouts = new Payouts({ client, environment, clock });
  return {
    joinPayout: (operation) => here(operation, () => join(payouts, operation)),
    payoutOutcome: (question) => here(question, () => outcome(client, clock, question)),
  };
}

async function join(payouts: Payouts, { request }: PayoutOperation): Promise<void> {
  try {
    await payouts.start(request);
  } catch (error) {
    if (error instanceof PayoutConflictError)
      throw ApplicationFailure.nonRetryable(error.message, PAYOUT_CONFLICT);
    throw error;
  }
}

async function outcome(
  client: Client,
  clock: Clock,
  { request, cancelled }: OutcomeQuestion,
): Promise<PayoutResult> {
  const workflowId = payoutWorkflowId(request.app, request.partnerOrderId);
  try {
    const { runId, status } = await client.workflow.getHandle(workflowId).describe();
    if (status.name === 'COMPLETED') return await resultOf(client, workflowId, runId);
    if (cancelled && status.name === 'RUNNING') await requestCancel(client, workflowId, runId);
    const badInput = status.name === 'FAILED' ? await badInputFailure(client, workflowId, runId) : undefined;
    if (!badInput) throw notYet();
    const counts = await decisiveRun(client, workflowId, { runId, isBadInput: true }, clock);
    if (counts?.saidNotCreated) return await resultOf(client, workflowId, counts.runId);
    if (counts) throw notYet();
    throw ApplicationFailure.nonRetryable(
      badInput.message,
      INVALID_PAYOUT_REQUEST,
      ...(badInput.details ?? []),
    );
  } catch (error) {
    if (isGone(error))
      throw ApplicationFailure.nonRetryable("nothing is left of the payout's workflow", PAYOUT_IS_GONE);
    throw error;
  }
}

/** Each time with the same request id: Temporal takes it once, however often it is asked. */
async function requestCancel(client: Client, workflowId: string, runId: string): Promise<void> {
  const { namespace, identity } = client.options;
  const requestId = activityInfo().workflowExecution?.runId ?? '';
  try {
    await client.workflowService.requestCancelWorkflowExecution({
      namespace,
      identity,
      requestId,
      reason: 'the caller cancelled the Nexus operation',
      workflowExecution: { workflowId, runId },
    });
  } catch (error) {
    // The run ended since: the next look tells how.
    if (!isGone(error)) throw error;
  }
}

async function resultOf(client: Client, workflowId: string, runId: string): Promise<PayoutResult> {
  const result: unknown = await client.workflow.getHandle(workflowId, runId).result();
  return payoutResultSchema.parse(result);
}

/** Retries are the waiting: they write no history, and hold no slot meanwhile. */
function notYet(): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'NOT_ENDED_YET',
    message: 'the payout has not ended yet; looks again',
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * GROWTH ** Math.min(30, activityInfo().attempt)),
  });
}
