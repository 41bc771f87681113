/** Which leases this process owns, and whether it should release one to another process. */

import { log } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { leaseTaskQueue, leaseWorkflowId } from '../../contract/ids.ts';
import type {
  LeaseHandover,
  LeaseKey,
  LeaseMode,
  LeaseSettings,
  SharedSettings,
} from '../../contract/rate-limit.ts';
import { holdOf, type LeaseHeartbeat } from '../../domain/rate-limit.ts';
import { logEvent } from '../../domain/telemetry.ts';
import { type Clock, type Runtime, sleep } from '../../runtime/runtime.ts';
import { type Runnable, shutDown } from '../activity-worker.ts';
import type { Predecessor, RateLimiter, Tenure } from './limiter.ts';

const { TASK_QUEUE_TYPE_ACTIVITY } = proto.temporal.api.enums.v1.TaskQueueType;
const { PENDING_ACTIVITY_STATE_STARTED } = proto.temporal.api.enums.v1.PendingActivityState;

const CHECK_EVERY_MS = 5_000;
/** A process starts a new long poll every minute. One that has not polled for this long has ended. */
const POLLER_TIMEOUT_S = 70;
/** Between looks while nothing changes, because a look asks Temporal about each lease. */
const LOOK_PAUSE_MS = 60_000;
/** Before a process claims a lease again that it offered, so that another one takes it. */
const CLAIM_DELAY_MS = 300;
/** Before a lease that no other process took is offered again. */
const REOFFER_AFTER_MS = 60_000;
/** After a term in which no call reached the provider. Doubles with each such term in a row. */
const MIN_BACK_OFF_MS = 15_000;
const MAX_BACK_OFF_MS = 120_000;
const NEVER = Number.NEGATIVE_INFINITY;

/** What this process knows about one lease. */
class Standing {
  isOwned = false;
  /** This process will release it. */
  isOffered = false;
  offeredAtMs = NEVER;
  backsOffUntilMs = NEVER;
  /** Terms in a row that this process gave up because no call reached the provider. */
  unreachedTerms = 0;
}

interface OwnershipParts {
  client: Client;
  /** This process, as Temporal shows it among the pollers. */
  identity: string;
  /** All leases that this process claims. */
  keys: readonly LeaseKey[];
  runtime: Runtime;
}

export class Ownership {
  private readonly parts: OwnershipParts;
  private readonly standings = new Map<string, Standing>();
  private looksAtMs = NEVER;
  private restsUntilMs = NEVER;

  constructor(parts: OwnershipParts) {
    this.parts = parts;
  }

  note(appId: string, isOwned: boolean): void {
    Object.assign(this.standing(appId), { isOwned, isOffered: false });
    this.lookSoon();
  }

  /** Offers nothing for a while after an owner has died: it seems to own its other leases until they time out. */
  rest(): void {
    this.restsUntilMs = this.now + LOOK_PAUSE_MS;
  }

  isBackingOff(appId: string): boolean {
    return this.now < this.standing(appId).backsOffUntilMs;
  }

  /** Resolves when a process that owns fewer leases should get this one. */
  async untilSurplus({ appId }: LeaseKey, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.parts.runtime;
    const standing = this.standing(appId);
    do {
      await sleep(clock, CHECK_EVERY_MS * (1 + random.number() / 2), signal);
      await this.look().catch(() => undefined);
      signal.throwIfAborted();
    } while (!standing.isOffered);
    Object.assign(standing, { isOffered: false, backsOffUntilMs: this.now + CLAIM_DELAY_MS });
  }

  /**
   * Stops claiming the lease for a while. The time is random, so that processes without a connection do not return
   * together. Does nothing and returns false if no other process waits for the lease: one must keep trying. `reached`:
   * in this term, calls reached the provider at first.
   */
  async backOff(key: LeaseKey, reached: boolean): Promise<boolean> {
    const waiting = await this.othersWaiting(key).catch(() => []);
    if (waiting.length === 0) return false;
    const standing = this.standing(key.appId);
    if (reached) standing.unreachedTerms = 0;
    const backOffMs = Math.min(MAX_BACK_OFF_MS, MIN_BACK_OFF_MS * 2 ** standing.unreachedTerms);
    standing.unreachedTerms += 1;
    standing.backsOffUntilMs = this.now + backOffMs * (1 + this.parts.runtime.random.number() / 2);
    return true;
  }

  private get now(): number {
    return this.parts.runtime.clock.nowMs();
  }

  private standing(appId: string): Standing {
    const standing = this.standings.get(appId) ?? new Standing();
    this.standings.set(appId, standing);
    return standing;
  }

  private lookSoon(): void {
    this.looksAtMs = Math.min(this.looksAtMs, this.now + CHECK_EVERY_MS);
  }

  /** Offers leases from time to time, if this process owns the most. */
  private async look(): Promise<void> {
    if (this.now < Math.max(this.looksAtMs, this.restsUntilMs)) return;
    this.looksAtMs = this.now + LOOK_PAUSE_MS;
    const { keys, runtime } = this.parts;
    const owned = keys
      .map(({ appId }) => this.standing(appId))
      .filter((one) => one.isOwned && !one.isOffered);
    const free = keys.filter(({ appId }) => {
      const standing = this.standing(appId);
      return owned.includes(standing) && this.now - standing.offeredAtMs > REOFFER_AFTER_MS;
    });
    // A process may poll for some leases only.
    const sample = free[Math.floor(runtime.random.number() * free.length)];
    const surplus = sample && owned.length > 1 ? await this.surplus(owned.length, sample) : 0;
    if (surplus > 0) this.lookSoon();
    const offered = free.map(({ appId }) => this.standing(appId)).filter(({ isOwned }) => isOwned);
    for (const standing of offered.slice(0, surplus))
      Object.assign(standing, { isOffered: true, offeredAtMs: this.now });
  }

  /**
   * Half of the difference between this process's leases and the fewest of a process that waits for `sample`. None if another
   * process owns more.
   */
  private async surplus(owned: number, sample: LeaseKey): Promise<number> {
    const [terms, waiting] = await Promise.all([
      Promise.all(this.parts.keys.map((key) => this.termOf(key).catch(() => undefined))),
      this.othersWaiting(sample),
    ]);
    const counts = new Map<string, number>();
    for (const term of terms) {
      const owner = term?.state === PENDING_ACTIVITY_STATE_STARTED && term.lastWorkerIdentity;
      if (owner && owner !== this.parts.identity) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    }
    const most = Math.max(owned, ...counts.values());
    const fewest = Math.min(owned, ...waiting.flatMap((identity) => counts.get(identity) ?? []));
    if (most - fewest > 1) this.lookSoon();
    if (most > owned) return 0;
    const half = Math.floor((owned - fewest) / 2);
    // A process without leases may have ended: Temporal shows its polls for a while.
    return half === 0 && waiting.some((identity) => !counts.has(identity)) ? 1 : half;
  }

  /** The activity that is the lease, as Temporal describes it. */
  private async termOf({ environment, appId }: LeaseKey) {
    const { workflow } = this.parts.client;
    const { raw } = await workflow.getHandle(leaseWorkflowId(environment, appId)).describe();
    return raw.pendingActivities?.[0];
  }

  /** The identities of the other processes that poll for the lease. */
  private async othersWaiting(key: LeaseKey): Promise<string[]> {
    const { client } = this.parts;
    const { environment, appId } = key;
    // The poll times are on Temporal's clock, and so is the last renewal of this process's lease, which is at most 22 s old.
    const nowS = Number((await this.termOf(key))?.lastHeartbeatTime?.seconds ?? 0);
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: leaseTaskQueue(environment, appId) },
      taskQueueType: TASK_QUEUE_TYPE_ACTIVITY,
    });
    return (pollers ?? [])
      .filter(({ lastAccessTime }) => nowS - Number(lastAccessTime?.seconds ?? 0) < POLLER_TIMEOUT_S)
      .flatMap(({ identity }) => identity ?? [])
      .filter((identity) => identity !== this.parts.identity);
  }
}

export interface OwnedTerm {
  /** Of this process. */
  number: number;
  mode: LeaseMode;
  callsPerSecond: number;
  /** Whether this process may write a call. */
  isValid(): boolean;
  /** Undefined: no call is sent that creates something. */
  shared: SharedSettings | undefined;
}

interface OwnedQueuesParts {
  app: string;
  key: LeaseKey;
  limiter: RateLimiter;
  ownership: Ownership;
  clock: Clock;
  callsPerSecond: number;
  /** Creates new Workers for each term, because a Worker cannot run again after its shutdown. */
  createWorkers(term: OwnedTerm): Promise<Runnable[]>;
  onBegin(): void;
  onEnd(): void;
  /** A Worker failed. `finished` rejects with its error. */
  onFailure(): void;
}

/** How long an owner keeps the lease while no call reaches the provider. */
const MIN_PATIENCE_MS = 10_000;
const MAX_PATIENCE_MS = 300_000;
const REACH_CHECK_EVERY_MS = 1_000;

/** Each change of the mode is a handover. */
const IDLE_AFTER_MS = 60_000;
const BUSY_AFTER_MS = 10_000;

/** Doubles with each owner that reached nothing, so that the lease does not move all the time. */
export function patienceMs(unreachedTerms: number): number {
  return Math.min(MAX_PATIENCE_MS, MIN_PATIENCE_MS * 2 ** unreachedTerms);
}

/** While this process owns the lease, it serves the queues of the application's calls. */
export class OwnedQueues {
  /** The application's name in this process's configuration. */
  readonly app: string;
  private readonly parts: OwnedQueuesParts;
  /** The runs of Workers of this term and of earlier ones. */
  private readonly runs: Promise<void>[] = [];
  private workers: Runnable[] = [];
  private term = 0;
  private mode: LeaseMode = 'busy';
  /** As the previous owner reported. */
  private unreachedBefore = 0;
  private gaveUp = false;
  private settingsVersion: number | undefined;

  constructor(parts: OwnedQueuesParts) {
    this.parts = parts;
    this.app = parts.app;
  }

  async begin(tenure: Tenure, before: Predecessor, settings: LeaseSettings): Promise<void> {
    const { key, limiter, ownership, onBegin, onFailure, createWorkers } = this.parts;
    const callsPerSecond = settings.callsPerSecond ?? this.parts.callsPerSecond;
    const { shared } = settings;
    this.term += 1;
    this.settingsVersion = shared?.version;
    this.unreachedBefore = before.unreachedTerms ?? 0;
    this.gaveUp = false;
    ownership.note(key.appId, true);
    if (tenure.predecessorDied) ownership.rest();
    onBegin();
    const isPaused = holdOf(settings) !== undefined;
    this.mode = tenure.mode;
    limiter.open({ ...before, ...tenure, callsPerSecond, isPaused });
    const { mode, isValid } = tenure;
    this.workers = await createWorkers({ number: this.term, mode, callsPerSecond, isValid, shared });
    for (const worker of this.workers) {
      const run = worker.run();
      run.catch(onFailure);
      this.runs.push(run);
    }
  }

  /** Stops sending, and waits for the last responses, for at most a second. */
  async drain(): Promise<void> {
    this.stopWorkers();
    await this.parts.limiter.drain();
  }

  /** Ends the term. Nothing is sent after the call. */
  end(): LeaseHandover {
    const { key, limiter, ownership, onEnd } = this.parts;
    const { closedForMs: silentMs } = limiter;
    const lastSends = limiter.close();
    this.stopWorkers();
    ownership.note(key.appId, false);
    onEnd();
    const unreachedTerms = this.unreachedTerms + (this.gaveUp ? 1 : 0);
    return { ...lastSends, unreachedTerms, nextMode: this.nextMode, silentMs };
  }

  heartbeat(): LeaseHeartbeat {
    const { settingsVersion } = this;
    return { ...this.parts.limiter.heartbeat(), ...(settingsVersion !== undefined && { settingsVersion }) };
  }

  get isInUse(): boolean {
    return this.parts.limiter.isInUse;
  }

  /** Resolves when this process should release the lease, to another one or for another mode. */
  async shouldRelease(signal: AbortSignal): Promise<void> {
    const { key, ownership } = this.parts;
    await Promise.race([
      ownership.untilSurplus(key, signal),
      this.untilUnreachable(signal),
      this.untilModeChanges(signal),
    ]);
  }

  /** Resolves when the Workers of all terms have ended. Rejects if one of them failed. */
  async finished(): Promise<void> {
    await Promise.all(this.runs);
  }

  private get unreachedTerms(): number {
    return this.parts.limiter.reached ? 0 : this.unreachedBefore;
  }

  private get nextMode(): LeaseMode {
    const { unusedMs, usedForMs } = this.parts.limiter;
    if (this.mode === 'busy') return unusedMs < IDLE_AFTER_MS ? 'busy' : 'idle';
    return usedForMs < BUSY_AFTER_MS || unusedMs > BUSY_AFTER_MS ? 'idle' : 'busy';
  }

  private async untilModeChanges(signal: AbortSignal): Promise<void> {
    do await sleep(this.parts.clock, CHECK_EVERY_MS, signal);
    while (this.nextMode === this.mode);
  }

  /** Resolves when no call has reached the provider for long enough, and another process waits for the lease. */
  private async untilUnreachable(signal: AbortSignal): Promise<void> {
    const { app, key, limiter, ownership, clock } = this.parts;
    for (;;) {
      await sleep(clock, REACH_CHECK_EVERY_MS, signal);
      const { unreachedMs } = limiter;
      if (unreachedMs < patienceMs(this.unreachedTerms)) continue;
      if (!(await ownership.backOff(key, limiter.reached))) continue;
      this.gaveUp = true;
      logEvent(log, 'provider.unreached', { app, unreachedMs: Math.round(unreachedMs) });
      return;
    }
  }

  private stopWorkers(): void {
    for (const worker of this.workers) shutDown(worker);
    this.workers = [];
  }
}
