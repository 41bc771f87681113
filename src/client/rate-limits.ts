/** The rate limit of an application as operators see it: how many calls a second, set by whom, and the lease owner. */

import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { leaseWorkflowId } from '../contract/ids.ts';
import { rateLimitQuery, setCallsPerSecondUpdate } from '../contract/lease-messages.ts';
import { appName } from '../contract/payout-request.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { RateLimitState } from '../domain/rate-limit-lease.ts';

export interface RateLimit extends RateLimitState {
  app: string;
  /** The worker process that may call now, by its Temporal identity; null while the lease moves. */
  owner: string | null;
}

/** `PENDING_ACTIVITY_STATE_STARTED` */
const STARTED = 2;

export class RateLimits {
  private readonly client: Client;
  private readonly environment: string;

  constructor(client: Client, environment: string) {
    this.client = client;
    this.environment = environment;
  }

  /** Throws Temporal's `WorkflowNotFoundError` where no worker has ever served the application. */
  async state(app: string): Promise<RateLimit> {
    const { workflowId, owner } = await this.leaseOf(app);
    return { app, ...(await this.handle(workflowId).query(rateLimitQuery)), owner };
  }

  /**
   * Calls a second (null: by each worker's configuration) from about half a second later on, without a restart.
   * Throws `WorkflowUpdateFailedError` where it is no whole number from 1 to 10,000.
   */
  async setCallsPerSecond(app: string, callsPerSecond: number | null, by: string): Promise<RateLimit> {
    const { workflowId } = await this.leaseOf(app);
    const change = { callsPerSecond, by };
    const state = await this.handle(workflowId).executeUpdate(setCallsPerSecondUpdate, { args: [change] });
    const { owner } = await this.described(workflowId);
    return { app, ...state, owner };
  }

  /**
   * The lease is known by the `app_id`, which only workers have. Where an application got another `app_id`, the lease
   * of the old one is still there, but nobody owns it.
   */
  private async leaseOf(app: string): Promise<{ workflowId: string; owner: string | null }> {
    // A name that cannot be configured could be syntax in a query.
    if (!appName.safeParse(app).success) throw notFound(app);
    const query = `WorkflowType = 'rateLimitLease' AND ExecutionStatus = 'Running' AND PayoutApp = '${app}'`;
    const found: { workflowId: string; owner: string | null; startedAtMs: number }[] = [];
    for await (const { workflowId, startTime } of this.client.workflow.list({ query })) {
      if (!workflowId.startsWith(leaseWorkflowId(this.environment, ''))) continue;
      found.push({ ...(await this.described(workflowId)), startedAtMs: startTime.getTime() });
    }
    found.sort((one, two) => two.startedAtMs - one.startedAtMs);
    const lease = found.find(({ owner }) => owner !== null) ?? found[0];
    if (!lease) throw notFound(app);
    return lease;
  }

  private async described(workflowId: string): Promise<{ workflowId: string; owner: string | null }> {
    const { raw } = await this.handle(workflowId).describe();
    const [held] = raw.pendingActivities ?? [];
    return { workflowId, owner: (held?.state === STARTED && held.lastWorkerIdentity) || null };
  }

  private handle(workflowId: string) {
    return this.client.workflow.getHandle<WorkflowSignatures['rateLimitLease']>(workflowId);
  }
}

function notFound(app: string): WorkflowNotFoundError {
  return new WorkflowNotFoundError(`no rate-limit lease of ${app}`, '', undefined);
}
