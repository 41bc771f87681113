/**
 * Checks that one process at a time sends: once the owner of the rate-limit lease has sent a call, no other process
 * writes one. The limit alone does not show this, because two processes rarely send more than 20 calls in a second.
 */
import type { PendingActivity } from '../temporal/pending-activity.ts';
import { hasSecondApp } from './plan.ts';
import type { Feature, Scene } from './scene.ts';

export class LeaseOwners implements Feature {
  private readonly scene: Scene;
  /** The latest attempt of the activity that is the lease. Its `identity` is the owner. */
  private lease: PendingActivity | undefined;
  /** The latest term in which a call was written. */
  private sentIn: string | undefined;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  begin(): void {
    const { plan, system } = this.scene;
    // A write does not show its application, and each application has a lease of its own.
    if (hasSecondApp(plan)) return;
    system.server.onDispatch.push((activity) => {
      if (activity.attributes.activityType === 'holdLease') this.lease = activity;
    });
    system.onWrite.push((process) => this.written(process));
  }

  private written(process: string): void {
    const { lease } = this;
    if (!lease) return;
    // A restore repeats the run, the event and the attempt, but not the time.
    const term = `${lease.run.runId} ${lease.scheduledId} ${lease.startedAt}`;
    if (process === lease.identity) this.sentIn = term;
    else if (this.sentIn === term)
      this.scene.system.world.violation(
        `${process} sends a call although ${lease.identity} owns the rate-limit lease and has sent`,
      );
  }
}
