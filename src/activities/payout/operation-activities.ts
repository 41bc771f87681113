/** The activities of the Nexus operation: they join a payout and wait for its outcome. */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { ConflictError } from '../../client/errors.ts';
import { Payouts } from '../../client/payouts.ts';
import { badInputFailure, startedBefore } from '../../client/start-once.ts';
import type { WorkerConfig } from '../../config/config.ts';
import { INVALID_PAYOUT_REQUEST, PAYOUT_CONFLICT, PAYOUT_IS_GONE } from '../../contract/failures.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import { type PayoutResult, storedResultSchema } from '../../contract/payout.ts';
import type { PayoutOperation } from '../../contract/workflows.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { isGone, unlessGone } from '../../temporal/client-errors.ts';
import { onlyHere } from '../shared/execution.ts';
import { waitByRetry } from '../shared/failures.ts';

/** `canceled`: the caller canceled the operation. */
type OutcomeQuestion = PayoutOperation & { canceled: boolean };

const WAITS = { minMs: 500, maxMs: 60_000, growth: 1.6 };

export function operationActivities({ env, keys }: WorkerConfig, client: Client, clock: Clock) {
  const { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_TARGET_CURRENCIES: targetCurrencies } = env;
  const here = onlyHere(environment, clock);
  const payouts = new Payouts({ client, environment, targetCurrencies, clock, searchKeys: keys.search });
  return {
    /** Starts or joins the payout. Fails as `PayoutConflict` if the number belongs to another body. */
    joinPayout: (operation: PayoutOperation) => here(operation, () => join(payouts, operation)),
    /** Retried until the payout has ended. Fails as `InvalidPayoutRequest` for bad input. May cancel open runs. */
    payoutOutcome: (question: OutcomeQuestion) => here(question, () => outcome(client, clock, question)),
  };
}

async function join(payouts: Payouts, { request, startedBy }: PayoutOperation): Promise<void> {
  try {
    // By now, a payout that existed may be deleted, so its id may not be new.
    await payouts.startFor(request, { startedBy, isNew: false });
  } catch (error) {
    if (error instanceof ConflictError) throw ApplicationFailure.nonRetryable(error.message, PAYOUT_CONFLICT);
    throw error;
  }
}

async function outcome(client: Client, clock: Clock, question: OutcomeQuestion): Promise<PayoutResult> {
  const { request, canceled } = question;
  const workflowId = payoutWorkflowId(request.app, request.partnerOrderId);
  try {
    const { runId, status } = await client.workflow.getHandle(workflowId).describe();
    if (status.name === 'COMPLETED') return await resultOf(client, workflowId, runId);
    if (canceled && status.name === 'RUNNING') await requestCancel(client, workflowId, runId);
    const badInput = status.name === 'FAILED' ? await badInputFailure(client, workflowId, runId) : undefined;
    if (!badInput) throw notEnded();
    const decisive = await startedBefore(client, clock, { workflowId, runId });
    if (decisive?.saidNotCreated) return await resultOf(client, workflowId, decisive.runId);
    if (decisive) throw notEnded();
    throw ApplicationFailure.nonRetryable(
      badInput.message,
      INVALID_PAYOUT_REQUEST,
      ...(badInput.details ?? []),
    );
  } catch (error) {
    if (isGone(error))
      throw ApplicationFailure.nonRetryable("the payout's workflow no longer exists", PAYOUT_IS_GONE);
    throw error;
  }
}

/** Uses the same request id each time, so that Temporal records one request per run. Ignores a run that has ended. */
async function requestCancel(client: Client, workflowId: string, runId: string): Promise<void> {
  const { namespace, identity } = client.options;
  const requestId = activityInfo().workflowExecution?.runId ?? '';
  await unlessGone(() =>
    client.workflowService.requestCancelWorkflowExecution({
      namespace,
      identity,
      requestId,
      reason: 'the caller canceled the Nexus operation',
      workflowExecution: { workflowId, runId },
    }),
  );
}

/** With all that a newer version has added. */
const anyResult = z.custom<PayoutResult>((value) => storedResultSchema.safeParse(value).success);

async function resultOf(client: Client, workflowId: string, runId: string): Promise<PayoutResult> {
  const result: unknown = await client.workflow.getHandle(workflowId, runId).result();
  return anyResult.parse(result);
}

function notEnded(): ApplicationFailure {
  return waitByRetry('NOT_ENDED_YET', 'the payout has not ended yet', WAITS);
}
