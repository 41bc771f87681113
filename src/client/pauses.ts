/** The stop switch of an application: while it is paused, no call is sent that creates an order or a receiving account. */
import type { Client } from '@temporalio/client';
import type { Pause, PauseRequest, RateLimitState } from '../contract/rate-limit.ts';
import { pauseUpdate, resumeUpdate } from '../contract/workflows.ts';
import { inForce } from '../domain/rate-limit.ts';
import { failoverVersionOf } from '../temporal/namespace.ts';
import { retryDroppedUpdate } from './dropped-updates.ts';
import { type Lease, Leases } from './leases.ts';

export interface Pausable {
  app: string;
  /** Null: not paused. */
  paused: Pause | null;
}

export class Pauses {
  private readonly client: Client;
  private readonly leases: Leases;

  constructor({ client, environment = 'test' }: { client: Client; environment?: string | undefined }) {
    this.client = client;
    this.leases = new Leases(client, environment);
  }

  /** Needs no worker. Throws Temporal's `WorkflowNotFoundError` if no worker has ever served the application. */
  async state(app: string): Promise<Pausable> {
    const [failoverVersion, lease] = await Promise.all([failoverVersionOf(this.client), this.leases.of(app)]);
    return pausable(lease, failoverVersion);
  }

  /** Every application that a worker has served. A new one may be missing for some seconds. */
  async list(): Promise<Pausable[]> {
    const failoverVersion = await failoverVersionOf(this.client);
    return (await this.leases.all()).map((lease) => pausable(lease, failoverVersion));
  }

  /**
   * Stops the create calls of an application, in every process. When it resolves, a call that has its turn may still be
   * written for 1.3 s. Needs a running worker. Pausing again changes nothing.
   */
  pause(app: string, { by, reason }: PauseRequest): Promise<Pausable> {
    return this.change(app, (lease) => lease.executeUpdate(pauseUpdate, { args: [{ by, reason }] }));
  }

  /** Ends the pause. The payouts that wait for it continue within a minute. */
  resume(app: string, { by }: Pick<PauseRequest, 'by'>): Promise<Pausable> {
    return this.change(app, (lease) => lease.executeUpdate(resumeUpdate, { args: [{ by }] }));
  }

  /** While the `app_id` changes, processes of both serve the application. */
  private async change(
    app: string,
    send: (lease: ReturnType<Leases['handle']>) => Promise<RateLimitState>,
  ): Promise<Pausable> {
    const leases = await this.leases.everyOf(app);
    const changed = leases.map(({ workflowId }) =>
      retryDroppedUpdate(() => send(this.leases.handle(workflowId))),
    );
    const [[state], [lease]] = [await Promise.all(changed), leases];
    if (!lease) return { app, paused: state?.paused ?? null };
    const settings = { ...lease.settings, paused: state?.paused ?? undefined };
    return pausable({ ...lease, settings }, await failoverVersionOf(this.client));
  }
}

const MISSING = 'its shared settings are missing, or from before a failover: payouts settings';

/** Without shared settings, nothing is sent either. */
function pausable({ app, settings, startedAt }: Lease, failoverVersion: string): Pausable {
  const { paused, shared } = inForce(settings, failoverVersion);
  if (paused || shared) return { app, paused: paused ?? null };
  return { app, paused: { by: 'durable payouts', at: startedAt, reason: MISSING } };
}
