/** Sees to it that the rate-limit lease exists: without it, nobody may call. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { leaseWorkflowId, PAYOUTS_TASK_QUEUE } from '../../contract/ids.ts';
import type { LeaseKey, PreviousOwner } from '../../domain/rate-limit-lease.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { APP } from '../../temporal/search-keys.ts';
import type { rateLimitLease } from '../../workflows/rate-limit-lease.ts';

const LOOK_EVERY_MS = 5_000;
/** Temporal is away, or does not know our search attributes yet. */
const TRY_AGAIN_MS = 1_000;

export class LeaseKeeper {
  private readonly client: Client;
  private readonly place: LeaseKey;
  private readonly app: string;
  private readonly clock: Clock;
  private stopTimer: () => void = () => undefined;
  private stopped = false;

  /** `app`: the application's name, by which people look for the lease. */
  constructor(client: Client, place: LeaseKey, app: string, clock: Clock) {
    this.client = client;
    this.place = place;
    this.app = app;
    this.clock = clock;
  }

  /** Looks now, and again and again until `stop`. */
  look(): void {
    this.stopTimer();
    this.ensure().then(
      () => this.lookIn(LOOK_EVERY_MS),
      () => this.lookIn(TRY_AGAIN_MS),
    );
  }

  stop(): void {
    this.stopped = true;
    this.stopTimer();
  }

  private lookIn(ms: number): void {
    this.stopTimer();
    if (!this.stopped) this.stopTimer = this.clock.after(ms, () => this.look());
  }

  private async ensure(): Promise<void> {
    const { app, place } = this;
    const before = await this.before();
    if (this.stopped || before === undefined) return;
    await this.client.workflow.start<typeof rateLimitLease>('rateLimitLease', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: leaseWorkflowId(place.environment, place.appId),
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [place, { before, app }],
      typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
      staticSummary: `rate limit of ${app}`,
    });
  }

  /** Undefined: it runs. One that was ended may have an owner that does not know it yet. */
  private async before(): Promise<PreviousOwner | undefined> {
    const { environment, appId } = this.place;
    try {
      const { status } = await this.client.workflow.getHandle(leaseWorkflowId(environment, appId)).describe();
      return status.name === 'RUNNING' ? undefined : 'unknown';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'nobody';
      throw error;
    }
  }
}
