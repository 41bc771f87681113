/** Reads from the provider, and the daily report, each through a short workflow on a worker. */
import { randomUUID } from 'node:crypto';
import type { Client, WorkflowResultType } from '@temporalio/client';
import type { Workflow } from '@temporalio/common';
import { PAYOUTS_TASK_QUEUE, reportId } from '../contract/ids.ts';
import { startMemo } from '../contract/memo.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { ClientAccounts, OpaqueRecord, ReceivingAccountBalance } from '../contract/provider-records.ts';
import type { DailyReport } from '../contract/reconciliation.ts';
import type { ProbeResult, ProbeTarget, QuotedPayout, WorkflowSignatures } from '../contract/workflows.ts';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import { whileWorkerRuns } from '../temporal/worker-watch.ts';

type ReadType =
  | 'payoutQuote'
  | 'accountQuery'
  | 'receivingBalanceQuery'
  | 'receivingDetailQuery'
  | 'providerProbe';

/** A read moves no money, so unlike a payout it may time out. The API server waits 30 seconds on behalf of a caller. */
const GIVE_UP_AFTER = '2 minutes';
const CALLER_GIVES_UP_AFTER = '40 seconds';

/**
 * `openId` is the user for whom the application acts, if user tokens are used. Every method throws `NoWorkerError`, and
 * Temporal's
 * `WorkflowFailedError` if the provider could not be queried within two minutes, or within 40 seconds on behalf of a caller.
 */
export class ProviderReads {
  private readonly client: Client;
  private readonly startedBy: string | undefined;

  /** `startedBy`: the caller, whose reads wait behind those of payouts, and take turns with other callers' reads. */
  constructor(client: Client, startedBy?: string) {
    this.client = client;
    this.startedBy = startedBy;
  }

  /** A quote for a payout, without starting it (spec: Query payment fee and exchange rate). */
  quote(request: CheckedPayoutRequest): Promise<QuotedPayout> {
    return this.read('payoutQuote', 'payout-quote', request);
  }

  /** The accounts of a client; null if it has none (spec: Query account information). */
  accounts(app: string, clientId: string, openId?: string): Promise<ClientAccounts | null> {
    return this.read('accountQuery', 'account-query', { app, openId, clientId });
  }

  /** The balance of `payerId` in `currency`, and its receiving accounts (spec: Query receiving accounts). */
  receivingBalance(
    app: string,
    payerId: string,
    currency: string,
    openId?: string,
  ): Promise<ReceivingAccountBalance> {
    return this.read('receivingBalanceQuery', 'receiving-balance', { app, openId, payerId, currency });
  }

  /**
   * The provider's record of a receiving account; null if it knows no such account (spec: Query receiving account
   * detail).
   */
  receivingDetail(app: string, accountId: string, openId?: string): Promise<OpaqueRecord | null> {
    return this.read('receivingDetailQuery', 'receiving-detail', { app, openId, accountId });
  }

  /** Checks the assumptions about the provider's API with harmless reads. */
  probe(app: string, question: ProbeTarget, openId?: string): Promise<ProbeResult> {
    return this.read('providerProbe', 'provider-probe', { app, openId, ...question });
  }

  private read<Type extends ReadType>(
    type: Type,
    idPrefix: string,
    question: Parameters<WorkflowSignatures[Type]>[0],
  ): Promise<WorkflowResultType<WorkflowSignatures[Type]>> {
    return whileWorkerRuns(this.client, PROCESS_RUNTIME.clock, () =>
      this.client.workflow.execute<Workflow>(type, {
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowId: `${idPrefix}:${question.app}:${randomUUID()}`,
        workflowExecutionTimeout: this.startedBy === undefined ? GIVE_UP_AFTER : CALLER_GIVES_UP_AFTER,
        memo: startMemo({ startedBy: this.startedBy }),
        args: [question],
      }),
    );
  }
}

/** A report moves no money, so it may time out. It reads the result of each payout: 345,000 take up to an hour. */
const REPORT_TIMEOUT = '3 hours';

export function reportWorkflowId(environment: string, day: string): string {
  return `${reportId(environment)}:${day}`;
}

/**
 * `day`: `YYYY-MM-DD`, UTC. Throws Temporal's `WorkflowFailedError` if no worker completes the report within three
 * hours.
 */
export async function dailyReport(client: Client, environment: string, day: string): Promise<DailyReport> {
  return client.workflow.execute<WorkflowSignatures['payoutReport']>('payoutReport', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: reportWorkflowId(environment, day),
    // Concurrent requests share one report.
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowExecutionTimeout: REPORT_TIMEOUT,
    args: [{ environment, day }],
    staticSummary: `the payouts of ${day}`,
  });
}
