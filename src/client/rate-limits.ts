/** The rate limit of an application for operators: the calls per second, who set them, and the lease owner. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import { leaseWorkflowId } from '../contract/ids.ts';
import { rateLimitQuery, setCallsPerSecondUpdate } from '../contract/lease-messages.ts';
import { appName } from '../contract/payout-request.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { RateLimitState } from '../domain/rate-limit-lease.ts';
import { retryDroppedUpdate } from './dropped-updates.ts';

export interface RateLimit extends RateLimitState {
  app: string;
  /** The Temporal identity of the lease owner; null during a handover. */
  owner: string | null;
  /** The calls per second that the owner reports; null if it has not reported them, as during a handover. */
  inForce: number | null;
}

interface Lease {
  workflowId: string;
  owner: string | null;
  /** The last heartbeat of the owner. */
  heartbeat: Payload[];
}

const heartbeatSchema = z.object({ callsPerSecond: z.number() });

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
    const { workflowId, owner, heartbeat } = await this.leaseOf(app);
    const state = await this.handle(workflowId).query(rateLimitQuery);
    return { app, ...state, owner, inForce: await this.reportedRate(heartbeat) };
  }

  /**
   * Sets the calls per second (null: each worker's configuration). Takes effect after about half a second, without a
   * restart. Throws `WorkflowUpdateFailedError` unless it is an integer from 1 to 10,000 or null.
   */
  async setCallsPerSecond(app: string, callsPerSecond: number | null, by: string): Promise<RateLimit> {
    const { workflowId } = await this.leaseOf(app);
    const change = { callsPerSecond, by };
    const state = await retryDroppedUpdate(() =>
      this.handle(workflowId).executeUpdate(setCallsPerSecondUpdate, { args: [change] }),
    );
    const { owner } = await this.described(workflowId);
    // The owner reports the new rate only after a handover.
    return { app, ...state, owner, inForce: null };
  }

  /**
   * Finds the lease by the application's name, because only workers know the `app_id` in its id. After a change of the
   * `app_id`, the old lease still exists, without an owner.
   */
  private async leaseOf(app: string): Promise<Lease> {
    // A name that is not valid could change the meaning of the query.
    if (!appName.safeParse(app).success) throw notFound(app);
    const query = `WorkflowType = 'rateLimitLease' AND ExecutionStatus = 'Running' AND PayoutApp = '${app}'`;
    const found: (Lease & { startedAtMs: number })[] = [];
    for await (const { workflowId, startTime } of this.client.workflow.list({ query })) {
      if (!workflowId.startsWith(leaseWorkflowId(this.environment, ''))) continue;
      found.push({ ...(await this.described(workflowId)), startedAtMs: startTime.getTime() });
    }
    found.sort((one, two) => two.startedAtMs - one.startedAtMs);
    const lease = found.find(({ owner }) => owner !== null) ?? found[0];
    if (!lease) throw notFound(app);
    return lease;
  }

  private async described(workflowId: string): Promise<Lease> {
    const { raw } = await this.handle(workflowId).describe();
    const [held] = raw.pendingActivities ?? [];
    const owner = (held?.state === STARTED && held.lastWorkerIdentity) || null;
    return { workflowId, owner, heartbeat: (owner !== null && held?.heartbeatDetails?.payloads) || [] };
  }

  /** Null without a report, or if this process cannot decrypt it. */
  private async reportedRate(heartbeat: Payload[]): Promise<number | null> {
    try {
      const converter = this.client.options.loadedDataConverter;
      const [details] = await decodeArrayFromPayloads(converter, heartbeat);
      return heartbeatSchema.parse(details).callsPerSecond;
    } catch {
      return null;
    }
  }

  private handle(workflowId: string) {
    return this.client.workflow.getHandle<WorkflowSignatures['rateLimitLease']>(workflowId);
  }
}

function notFound(app: string): WorkflowNotFoundError {
  return new WorkflowNotFoundError(`no rate-limit lease of ${app}`, '', undefined);
}
