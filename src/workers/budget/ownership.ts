/** Which budgets this process owns, and whether another process should have one of them. */
import type { Client } from '@temporalio/client';
import { leaseTaskQueue, leaseWorkflowId } from '../../domain/identity.ts';
import type { LeasePlace } from '../../domain/rate-limit-lease.ts';
import { pause } from './pause.ts';

/** How often an owner of several looks whether somebody has fewer. */
const LOOK_EVERY_MS = 5_000;
/** Long polls are renewed every minute; whoever has not polled for longer is gone. */
const GONE_AFTER_MS = 70_000;
/** Whoever waits gets it at once, so this is long enough to let others go first. */
const LET_OTHERS_FIRST_MS = 300;
/** A budget that nobody took is not offered again so soon. */
const OFFERED_AGAIN_AFTER_MS = 120_000;
/** `TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY` */
const ACTIVITY_QUEUE = 2;

export class Ownership {
  private readonly client: Client;
  private readonly identity: string;
  private readonly places: readonly LeasePlace[];
  private readonly owned = new Set<string>();
  private readonly offered = new Map<string, number>();

  constructor(parts: { client: Client; identity: string; places: readonly LeasePlace[] }) {
    this.client = parts.client;
    this.identity = parts.identity;
    this.places = parts.places;
  }

  took(app: string): void {
    this.owned.add(app);
  }

  gave(app: string): void {
    this.owned.delete(app);
  }

  /** Whoever owns fewer is quicker to ask for more. */
  async beforeClaiming(app: string, signal: AbortSignal): Promise<void> {
    const offered = this.offered.get(app) ?? Number.NEGATIVE_INFINITY;
    const politely = Math.max(0, offered + LET_OTHERS_FIRST_MS - performance.now());
    await pause(politely + this.owned.size * LET_OTHERS_FIRST_MS, signal);
  }

  /** Resolves when this application's budget should go to a process that owns at least two fewer. */
  async surplus(place: LeasePlace, signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(LOOK_EVERY_MS * (1 + Math.random() / 2), signal);
      if (!this.isNextToGo(place.app)) continue;
      const another = await this.somebodyHasFewer(place).catch(() => false);
      if (!another) continue;
      this.offered.set(place.app, performance.now());
      return;
    }
  }

  /** One at a time, and not the one that nobody took a moment ago. */
  private isNextToGo(app: string): boolean {
    if (this.owned.size < 2) return false;
    const now = performance.now();
    const fresh = [...this.owned].filter(
      (name) => now - (this.offered.get(name) ?? Number.NEGATIVE_INFINITY) > OFFERED_AGAIN_AFTER_MS,
    );
    return fresh.sort()[0] === app;
  }

  private async somebodyHasFewer(place: LeasePlace): Promise<boolean> {
    const [owners, waiting] = await Promise.all([this.owners(), this.waitingFor(place)]);
    const count = (identity: string) => owners.filter((owner) => owner === identity).length;
    return waiting.some((identity) => identity !== this.identity && count(identity) <= this.owned.size - 2);
  }

  private owners(): Promise<(string | undefined)[]> {
    return Promise.all(
      this.places.map(async ({ environment, app }) => {
        const handle = this.client.workflow.getHandle(leaseWorkflowId(environment, app));
        const { raw } = await handle.describe();
        return raw.pendingActivities?.[0]?.lastWorkerIdentity ?? undefined;
      }),
    );
  }

  private async waitingFor({ environment, app }: LeasePlace): Promise<string[]> {
    const { pollers } = await this.client.workflowService.describeTaskQueue({
      namespace: this.client.options.namespace,
      taskQueue: { name: leaseTaskQueue(environment, app) },
      taskQueueType: ACTIVITY_QUEUE,
    });
    const alive = (pollers ?? []).filter(
      ({ lastAccessTime }) => Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1_000 < GONE_AFTER_MS,
    );
    return alive.flatMap(({ identity }) => identity ?? []);
  }
}
