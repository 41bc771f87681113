/** Which leases this process owns, and whether another process should have one of them. */
import type { Client } from '@temporalio/client';
import { leaseTaskQueue, leaseWorkflowId } from '../../contract/ids.ts';
import type { LeaseKey } from '../../domain/rate-limit-lease.ts';
import { type Surroundings, sleep } from '../../surroundings/surroundings.ts';

/** How often an owner of several looks whether somebody has fewer. */
const LOOK_EVERY_MS = 5_000;
/** Long polls are renewed every minute; whoever has not polled for longer is gone. */
const GONE_AFTER_MS = 70_000;
/** Whoever waits gets it at once, so this is long enough to let others go first. */
const LET_OTHERS_FIRST_MS = 300;
/** A lease that nobody took is not offered again so soon. */
const OFFERED_AGAIN_AFTER_MS = 120_000;
/** After a term in which nothing reached the provider; twice as long after each further one in a row. */
const STAYS_OFF_MS = 15_000;
const STAYS_OFF_MOST_MS = 120_000;
/** `TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY` */
const ACTIVITY_QUEUE = 2;

/** What this process remembers about one lease. */
interface Standing {
  owned: boolean;
  offeredAtMs: number;
  staysOffUntilMs: number;
  /** Terms in a row that this process gave up because nothing reached the provider. */
  unreachedTerms: number;
}

export class Ownership {
  private readonly client: Client;
  private readonly identity: string;
  private readonly places: readonly LeaseKey[];
  private readonly surroundings: Surroundings;
  private readonly standings = new Map<string, Standing>();

  constructor(parts: {
    client: Client;
    identity: string;
    places: readonly LeaseKey[];
    surroundings: Surroundings;
  }) {
    this.client = parts.client;
    this.identity = parts.identity;
    this.places = parts.places;
    this.surroundings = parts.surroundings;
  }

  took(appId: string): void {
    this.standing(appId).owned = true;
  }

  gave(appId: string): void {
    this.standing(appId).owned = false;
  }

  /** Whoever owns fewer is quicker to ask for more. */
  async beforeClaiming(signal: AbortSignal): Promise<void> {
    await sleep(this.surroundings.clock, this.owned.length * LET_OTHERS_FIRST_MS, signal);
  }

  /** This process leaves the lease to others for now. */
  staysOff(appId: string): boolean {
    return this.surroundings.clock.nowMs() < this.standing(appId).staysOffUntilMs;
  }

  /** Resolves when the lease should go to a process that owns at least two fewer. */
  async surplus(place: LeaseKey, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.surroundings;
    for (;;) {
      await sleep(clock, LOOK_EVERY_MS * (1 + random.number() / 2), signal);
      if (!this.isNextToGo(place.appId)) continue;
      const another = await this.somebodyHasFewer(place).catch(() => false);
      if (!another) continue;
      const standing = this.standing(place.appId);
      standing.offeredAtMs = clock.nowMs();
      standing.staysOffUntilMs = standing.offeredAtMs + LET_OTHERS_FIRST_MS;
      return;
    }
  }

  /**
   * Stays off the lease for a while, spread so that processes that are all cut off do not come back together. False,
   * and nothing, where no other process waits for the lease: somebody has to go on trying. `reached`: in this term,
   * calls reached the provider at first.
   */
  async leaveToOthers(place: LeaseKey, reached: boolean): Promise<boolean> {
    const { clock, random } = this.surroundings;
    const waiting = await this.waitingFor(place).catch(() => []);
    if (!waiting.some((identity) => identity !== this.identity)) return false;
    const standing = this.standing(place.appId);
    if (reached) standing.unreachedTerms = 0;
    const offMs = Math.min(STAYS_OFF_MOST_MS, STAYS_OFF_MS * 2 ** standing.unreachedTerms);
    standing.unreachedTerms += 1;
    standing.staysOffUntilMs = clock.nowMs() + offMs * (1 + random.number() / 2);
    return true;
  }

  private get owned(): string[] {
    return [...this.standings].flatMap(([appId, { owned }]) => (owned ? [appId] : []));
  }

  private standing(appId: string): Standing {
    const known = this.standings.get(appId);
    if (known) return known;
    const never = Number.NEGATIVE_INFINITY;
    const fresh = { owned: false, offeredAtMs: never, staysOffUntilMs: never, unreachedTerms: 0 };
    this.standings.set(appId, fresh);
    return fresh;
  }

  /** One at a time, and not the one that nobody took a moment ago. */
  private isNextToGo(appId: string): boolean {
    const { owned } = this;
    if (owned.length < 2) return false;
    const now = this.surroundings.clock.nowMs();
    const notOffered = owned.filter((one) => now - this.standing(one).offeredAtMs > OFFERED_AGAIN_AFTER_MS);
    return notOffered.sort()[0] === appId;
  }

  private async somebodyHasFewer(place: LeaseKey): Promise<boolean> {
    const [owners, waiting] = await Promise.all([this.owners(), this.waitingFor(place)]);
    const count = (identity: string) => owners.filter((owner) => owner === identity).length;
    const few = this.owned.length - 2;
    return waiting.some((identity) => identity !== this.identity && count(identity) <= few);
  }

  private owners(): Promise<(string | undefined)[]> {
    return Promise.all(
      this.places.map(async ({ environment, appId }) => {
        const { raw } = await this.client.workflow.getHandle(leaseWorkflowId(environment, appId)).describe();
        return raw.pendingActivities?.[0]?.lastWorkerIdentity ?? undefined;
      }),
    );
  }

  private async waitingFor({ environment, appId }: LeaseKey): Promise<string[]> {
    const { pollers } = await this.client.workflowService.describeTaskQueue({
      namespace: this.client.options.namespace,
      taskQueue: { name: leaseTaskQueue(environment, appId) },
      taskQueueType: ACTIVITY_QUEUE,
    });
    const nowMs = this.surroundings.clock.wallMs();
    const alive = (pollers ?? []).filter(
      ({ lastAccessTime }) => nowMs - Number(lastAccessTime?.seconds ?? 0) * 1_000 < GONE_AFTER_MS,
    );
    return alive.flatMap(({ identity }) => identity ?? []);
  }
}
