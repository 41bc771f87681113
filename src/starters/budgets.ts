/** The call budget of an application as operators see it: how many calls a second, by whom, and which process has it. */
import type { Client } from '@temporalio/client';
import { leaseWorkflowId } from '../domain/identity.ts';
import type { BudgetState } from '../domain/rate-limit-lease.ts';
import { budgetQuery, setCallsPerSecondUpdate } from '../workflows/lease-messages.ts';
import type { rateLimitLease } from '../workflows/rate-limit-lease.ts';

export interface Budget extends BudgetState {
  app: string;
  /** The worker process that may call now, by its Temporal identity; null while it moves. */
  owner: string | null;
}

export class Budgets {
  private readonly client: Client;
  private readonly environment: string;

  constructor(client: Client, environment: string) {
    this.client = client;
    this.environment = environment;
  }

  /** Throws Temporal's `WorkflowNotFoundError` where no worker has ever served the application. */
  async state(app: string): Promise<Budget> {
    const handle = this.handle(app);
    const [state, { raw }] = await Promise.all([handle.query(budgetQuery), handle.describe()]);
    return { app, ...state, owner: raw.pendingActivities?.[0]?.lastWorkerIdentity || null };
  }

  /**
   * Calls a second (null: by each worker's configuration) from about half a second later on, without a restart.
   * Throws `WorkflowUpdateFailedError` where it is no whole number from 1 to 10,000.
   */
  async setCallsPerSecond(app: string, callsPerSecond: number | null, by: string): Promise<Budget> {
    await this.handle(app).executeUpdate(setCallsPerSecondUpdate, { args: [{ callsPerSecond, by }] });
    return this.state(app);
  }

  private handle(app: string) {
    return this.client.workflow.getHandle<typeof rateLimitLease>(leaseWorkflowId(this.environment, app));
  }
}
