/** Reads of the payments service on behalf of people, each through a small workflow on a worker. */

import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import type { ProbeResult, ProbeTarget, QuotedPayout, WorkflowSignatures } from '../contract/workflows.ts';
import type { CheckedPayoutRequest } from '../domain/payout.ts';
import type { ClientAccounts, OpaqueRecord, ReceivingAccountBalance } from '../domain/provider-records.ts';

/** No money moves here, so unlike a payout a read may be given up. */
const GIVE_UP_AFTER = '2 minutes';

/** `openId`: the user to act for, where user tokens are used. Each throws Temporal's `WorkflowFailedError` when the service could not be asked. */
export class ProviderReads {
  private readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  async quote(request: CheckedPayoutRequest): Promise<QuotedPayout> {
    return this.client.workflow.execute<WorkflowSignatures['payoutQuote']>('payoutQuote', {
      ...options('payout-quote', request.app),
      args: [request],
    });
  }

  async accounts(app: string, clientId: string, openId?: string): Promise<ClientAccounts | null> {
    return this.client.workflow.execute<WorkflowSignatures['accountQuery']>('accountQuery', {
      ...options('account-query', app),
      args: [{ app, openId, clientId }],
    });
  }

  /** What `payerId` has received in `currency`, and the accounts for it. */
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

  /** One receiving account as the service writes it; null when it knows none of this number. */
  async receivingDetail(app: string, accountId: string, openId?: string): Promise<OpaqueRecord | null> {
    return this.client.workflow.execute<WorkflowSignatures['receivingDetailQuery']>('receivingDetailQuery', {
      ...options('receiving-detail', app),
      args: [{ app, openId, accountId }],
    });
  }

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
