/** Reads of the payments service on behalf of people, each through a small workflow on a worker. */
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { ProbeQuestion } from '../activities/types.ts';
import { PAYOUTS_TASK_QUEUE } from '../domain/identity.ts';
import type { ProbeFinding } from '../domain/open-points.ts';
import type { CheckedPayoutRequest } from '../domain/payout.ts';
import type { ClientAccounts } from '../payments/types.ts';
import type { accountQuery, payoutQuote, QuotedPayout, serviceProbe } from '../workflows/reads.ts';

/** No money moves here, so unlike a payout a read may be given up. */
const GIVE_UP_AFTER = '2 minutes';

/** `openId`: the user to act for, where user tokens are used. Each throws Temporal's `WorkflowFailedError` when the service could not be asked. */
export class ServiceReads {
  private readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  async quote(request: CheckedPayoutRequest): Promise<QuotedPayout> {
    return this.client.workflow.execute<typeof payoutQuote>('payoutQuote', {
      ...options('payout-quote', request.app),
      args: [request],
    });
  }

  async accounts(app: string, clientId: string, openId?: string): Promise<ClientAccounts | null> {
    return this.client.workflow.execute<typeof accountQuery>('accountQuery', {
      ...options('account-query', app),
      args: [{ app, openId, clientId }],
    });
  }

  async probe(app: string, question: ProbeQuestion, openId?: string): Promise<ProbeFinding[]> {
    return this.client.workflow.execute<typeof serviceProbe>('serviceProbe', {
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
