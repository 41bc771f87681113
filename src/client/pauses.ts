/** The stop switch of an application: while it is paused, no call is sent that creates an order or a receiving account. */
import type { Client } from '@temporalio/client';
import { pauseUpdate, resumeUpdate } from '../contract/lease-messages.ts';
import type { Pause, PauseRequest } from '../domain/rate-limit-lease.ts';
import { retryDroppedUpdate } from './dropped-updates.ts';
import { Leases } from './leases.ts';

export interface Pausable {
  app: string;
  /** Null: not paused. */
  paused: Pause | null;
}

export class Pauses {
  private readonly leases: Leases;

  constructor({ client, environment = 'test' }: { client: Client; environment?: string | undefined }) {
    this.leases = new Leases(client, environment);
  }

  /** Needs no worker. Throws Temporal's `WorkflowNotFoundError` if no worker has ever served the application. */
  async state(app: string): Promise<Pausable> {
    return pausable(await this.leases.of(app));
  }

  /** Every application that a worker has served. A new one may be missing for some seconds. */
  async list(): Promise<Pausable[]> {
    return (await this.leases.all()).map(pausable);
  }

  /**
   * Stops the create calls of an application, in every process. When it resolves, a call that has its turn may still be
   * written for 1.3 s. Needs a running worker. Pausing again changes nothing.
   */
  async pause(app: string, { by, reason }: PauseRequest): Promise<Pausable> {
    const { workflowId } = await this.leases.of(app);
    const { paused } = await retryDroppedUpdate(() =>
      this.leases.handle(workflowId).executeUpdate(pauseUpdate, { args: [{ by, reason }] }),
    );
    return { app, paused };
  }

  /** Ends the pause. The payouts that wait for it continue within a minute. */
  async resume(app: string, { by }: Pick<PauseRequest, 'by'>): Promise<Pausable> {
    const { workflowId } = await this.leases.of(app);
    const { paused } = await retryDroppedUpdate(() =>
      this.leases.handle(workflowId).executeUpdate(resumeUpdate, { args: [{ by }] }),
    );
    return { app, paused };
  }
}

function pausable({
  app,
  settings: { paused },
}: {
  app: string;
  settings: { paused?: Pause | undefined };
}): Pausable {
  return { app, paused: paused ?? null };
}
