/** Reads from the provider, each through a short workflow on a worker. */

import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import type { ProbeResult, ProbeTarget, QuotedPayout, WorkflowSignatures } from '../contract/workflows.ts';
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
  async quote(request: CheckedPayoutRequest): Promise<QuotedPayout> {
    return this.client.workflow.execute<WorkflowSignatures['payoutQuote']>('payoutQuote', {
      ...options('payout-quote', request.app),
      args: [request],
    });
  }

  /** The accounts of a client; null if it has none (spec: Query account information). */
  async accounts(app: string, clientId: string, openId?: string): Promise<ClientAccounts | null> {
    return this.client.workflow.execute<WorkflowSignatures['accountQuery']>('accountQuery', {
      ...options('account-query', app),
      args: [{ app, openId, clientId }],
    });
  }

  /** The balance of `payerId` in `currency`, and its receiving accounts (spec: Query receiving accounts). */
  async receivingBalance(
    app: string,
    payerId: string,
    currency: string,
    openId?: string,
  ): Promise<ReceivingAccountBalance> {
    return this.client.workflow.execute<WorkflowSignatures['receivingBalanceQuery']>(
      'receivingBalanceQuery',
      {
        ...options('receiving-balance', app),
        args: [{ app, openId, payerId, currency }],
      },
    );
  }

  /**
   * The provider's record of a receiving account; null if it knows no such account (spec: Query receiving account
   * detail).
   */
  async receivingDetail(app: string, accountId: string, openId?: string): Promise<OpaqueRecord | null> {
    return this.client.workflow.execute<WorkflowSignatures['receivingDetailQuery']>('receivingDetailQuery', {
      ...options('receiving-detail', app),
      args: [{ app, openId, accountId }],
    });
  }

  /** Checks the assumptions about the provider's API with harmless reads. */
  async probe(app: string, question: ProbeTarget, openId?: string): Promise<ProbeResult> {
    return this.client.workflow.execute<WorkflowSignatures['serviceProbe']>('serviceProbe', {
      ...options('service-probe', app),
      args: [{ app, openId, ...question }],
    });
  }
}

function options(kind: string, app: string) {
  return {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: `${kind}:${app}:${randomUUID()}`,
    workflowExecutionTimeout: GIVE_UP_AFTER,
  } as const;
}
