/** The rate limit of an application for operators: the calls per second, who set them, and the lease owner. */
import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import type { RateLimitState } from '../contract/rate-limit.ts';
import { rateLimitQuery, setCallsPerSecondUpdate } from '../contract/workflows.ts';
import { retryDroppedUpdate } from './dropped-updates.ts';
import { Leases } from './leases.ts';

export interface RateLimit extends RateLimitState {
  app: string;
  /** The Temporal identity of the lease owner; null during a handover. */
  owner: string | null;
  /** The calls per second that the owner reports; null if it has not reported them, as during a handover. */
  inForce: number | null;
}

const heartbeatSchema = z.object({ callsPerSecond: z.number() });

export class RateLimits {
  private readonly client: Client;
  private readonly leases: Leases;

  constructor(client: Client, environment: string) {
    this.client = client;
    this.leases = new Leases(client, environment);
  }

  /** Throws Temporal's `WorkflowNotFoundError` if no worker has ever served the application. */
  async state(app: string): Promise<RateLimit> {
    const { workflowId, owner, heartbeat } = await this.leases.of(app);
    const state = await this.leases.handle(workflowId).query(rateLimitQuery);
    return { app, ...state, owner, inForce: await this.reportedRate(heartbeat) };
  }

  /**
   * Sets the calls per second (null: each worker's configuration). Takes effect after about half a second, without a
   * restart. Throws `WorkflowUpdateFailedError` unless it is an integer from 1 to 10,000 or null.
   */
  async setCallsPerSecond(app: string, callsPerSecond: number | null, by: string): Promise<RateLimit> {
    const { workflowId } = await this.leases.of(app);
    const change = { callsPerSecond, by };
    const state = await retryDroppedUpdate(() =>
      this.leases.handle(workflowId).executeUpdate(setCallsPerSecondUpdate, { args: [change] }),
    );
    const { owner } = await this.leases.describe(app, workflowId);
    // The owner reports the new rate only after a handover.
    return { app, ...state, owner, inForce: null };
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
}
