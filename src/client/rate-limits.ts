/** The rate limit of an application for operators: the calls per second, who set them, and the lease owner. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { leaseWorkflowId } from '../contract/ids.ts';
import { rateLimitQuery, setCallsPerSecondUpdate } from '../contract/lease-messages.ts';
import { appName } from '../contract/payout-request.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { RateLimitState } from '../domain/rate-limit-lease.ts';

export interface RateLimit extends RateLimitState {
  app: string;
  /** The Temporal identity of the lease owner; null during a handover. */
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

  /** Throws Temporal's `WorkflowNotFoundError` if no worker has ever served the application. */
  async state(app: string): Promise<RateLimit> {
    const { workflowId, owner } = await this.leaseOf(app);
    return { app, ...(await this.handle(workflowId).query(rateLimitQuery)), owner };
  }

  /**
   * Sets the calls per second (null: each worker's configuration). Takes effect after about half a second, without a
   * restart. Throws `WorkflowUpdateFailedError` unless it is an integer from 1 to 10,000 or null.
   */
  async setCallsPerSecond(app: string, callsPerSecond: number | null, by: string): Promise<RateLimit> {
    const { workflowId } = await this.leaseOf(app);
    const change = { callsPerSecond, by };
    const state = await this.handle(workflowId).executeUpdate(setCallsPerSecondUpdate, { args: [change] });
    const { owner } = await this.described(workflowId);
    return { app, ...state, owner };
  }

  /**
   * Finds the lease by the application's name, because only workers know the `app_id` in its id. After a change of the
   * `app_id`, the old lease still exists, without an owner.
   */
  private async leaseOf(app: string): Promise<{ workflowId: string; owner: string | null }> {
    // A name that is not valid could change the meaning of the query.
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
