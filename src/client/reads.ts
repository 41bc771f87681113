/** Reads from the provider, and the daily report, each through a short workflow on a worker. */
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { PAYOUTS_TASK_QUEUE, reportId } from '../contract/ids.ts';
import type { ProbeResult, ProbeTarget, QuotedPayout, WorkflowSignatures } from '../contract/workflows.ts';
import type { DailyReport } from '../domain/daily-report.ts';
import type { CheckedPayoutRequest } from '../domain/payout.ts';
import type { ClientAccounts, OpaqueRecord, ReceivingAccountBalance } from '../domain/provider-records.ts';

/** A read moves no money, so unlike a payout it may time out. */
const GIVE_UP_AFTER = '2 minutes';

/**
 * `openId` is the user for whom the application acts, if user tokens are used. Every method throws Temporal's
 * `WorkflowFailedError` if the provider could not be queried within two minutes.
 */
export class ProviderReads {
  private readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  /** A quote for a payout, without starting it (spec: Query payment fee and exchange rate). */
  quote(request: CheckedPayoutRequest): Promise<QuotedPayout> {
    const start = options('payout-quote', request);
    return this.client.workflow.execute<WorkflowSignatures['payoutQuote']>('payoutQuote', start);
  }

  /** The accounts of a client; null if it has none (spec: Query account information). */
  accounts(app: string, clientId: string, openId?: string): Promise<ClientAccounts | null> {
    const start = options('account-query', { app, openId, clientId });
    return this.client.workflow.execute<WorkflowSignatures['accountQuery']>('accountQuery', start);
  }

  /** The balance of `payerId` in `currency`, and its receiving accounts (spec: Query receiving accounts). */
  receivingBalance(
    app: string,
    payerId: string,
    currency: string,
    openId?: string,
  ): Promise<ReceivingAccountBalance> {
    const start = options('receiving-balance', { app, openId, payerId, currency });
    return this.client.workflow.execute<WorkflowSignatures['receivingBalanceQuery']>(
      'receivingBalanceQuery',
      start,
    );
  }

  /**
   * The provider's record of a receiving account; null if it knows no such account (spec: Query receiving account
   * detail).
   */
  receivingDetail(app: string, accountId: string, openId?: string): Promise<OpaqueRecord | null> {
    const start = options('receiving-detail', { app, openId, accountId });
    return this.client.workflow.execute<WorkflowSignatures['receivingDetailQuery']>(
      'receivingDetailQuery',
      start,
    );
  }

  /** Checks the assumptions about the provider's API with harmless reads. */
  probe(app: string, question: ProbeTarget, openId?: string): Promise<ProbeResult> {
    const start = options('service-probe', { app, openId, ...question });
    return this.client.workflow.execute<WorkflowSignatures['serviceProbe']>('serviceProbe', start);
  }
}

function options<Question extends { app: string }>(kind: string, question: Question) {
  return {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: `${kind}:${question.app}:${randomUUID()}`,
    workflowExecutionTimeout: GIVE_UP_AFTER,
    args: [question],
  } as const;
}

/** A report moves no money, so it may time out. A hundred thousand payouts take some minutes. */
const REPORT_TIMEOUT = '15 minutes';

/**
 * `day`: `YYYY-MM-DD`, UTC. Throws Temporal's `WorkflowFailedError` if no worker completes the report within 15
 * minutes.
 */
export async function dailyReport(client: Client, environment: string, day: string): Promise<DailyReport> {
  return client.workflow.execute<WorkflowSignatures['payoutReport']>('payoutReport', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: `${reportId(environment)}:${day}`,
    // Concurrent requests share one report.
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowExecutionTimeout: REPORT_TIMEOUT,
    args: [{ environment, day }],
    staticSummary: `the payouts of ${day}`,
  });
}
