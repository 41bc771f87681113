/** An operator pauses the first application and resumes it. Meanwhile, no call arrives that creates something. */
import { Pauses as Switch } from '../../src/client/leases.ts';
import { leaseWorkflowId } from '../../src/contract/ids.ts';
import { RENEWAL_VALID_MS } from '../../src/domain/rate-limit.ts';
import type { Random } from '../engine/random.ts';
import { APP_IDS } from './payout-world.ts';
import type { PlannedPause } from './planned.ts';
import type { Feature, Scene } from './scene.ts';

const PROBABILITY = 0.2;
const APP = 'default';
const APP_ID = APP_IDS[APP] ?? '';
const LEASE = leaseWorkflowId('test', APP_ID);
/** A call that was written on time is under way for as long. */
const TRIP_MS = 20;
const RETRY_MS = 1_000;
const CREATING: readonly string[] = ['createCnyOrder', 'receivingAccountCreate'];

export function planPause(random: Random, faultPhaseMs: number): PlannedPause | undefined {
  if (!random.chance(PROBABILITY)) return undefined;
  const atMs = random.between(0, (random.pick([0.1, 0.8]) ?? 0) * faultPhaseMs);
  const lastsMs = (random.pick([3_000, 20_000, 20_000, 120_000, 1_200_000]) ?? 0) * random.between(0.5, 1);
  const kind = random.pick(['terminate', 'reset', undefined, undefined] as const);
  const lease = kind && { kind, atMs: random.between(0, lastsMs), part: random.next() };
  return { atMs, lastsMs, lease };
}

export class Pauses implements Feature {
  private readonly scene: Scene;
  private readonly pauses: Switch;
  /** When the provider may receive no such call: since when, and until when. */
  private readonly windows: { fromMs: number; toMs: number }[] = [];
  private isPaused = false;
  private hasPaused = false;
  /** One operator: the next command follows the confirmation of the last one. */
  private pausing = Promise.resolve();

  constructor(scene: Scene) {
    this.scene = scene;
    this.pauses = new Switch({ client: scene.system.client, environment: 'test' });
  }

  begin(): void {
    const { pause } = this.scene.plan;
    if (pause) this.scene.system.world.spawn(this.perform(pause));
  }

  unfinished(): string[] {
    return this.isPaused ? ['the pause'] : [];
  }

  /** The restored Temporal may lack the pause, or have one that has ended. The runbook says to repeat the last command. */
  restored(): void {
    this.close();
    if (!this.hasPaused) return;
    this.pausing = this.isPaused ? this.pause() : this.resume();
    this.scene.system.world.spawn(this.pausing);
  }

  async check(): Promise<void> {
    const { provider, world } = this.scene.system;
    for (const { operation, appId, atMs } of provider.control.calls())
      if (appId === APP_ID && CREATING.includes(operation) && this.isForbidden(atMs))
        world.violation(`a call of ${operation} arrives although the application is paused`);
  }

  private isForbidden(atMs: number): boolean {
    return this.windows.some(({ fromMs, toMs }) => fromMs < atMs && atMs < toMs);
  }

  private async perform({ atMs, lastsMs, lease }: PlannedPause): Promise<void> {
    const { world } = this.scene.system;
    await world.sleep(atMs);
    this.isPaused = true;
    this.hasPaused = true;
    await this.pause();
    if (lease) world.spawn(this.disturb(lease));
    await world.sleep(lastsMs);
    await this.pausing;
    this.isPaused = false;
    this.close();
    await this.resume();
  }

  private async resume(): Promise<void> {
    this.scene.recordAction('application', APP, 'resume');
    await this.untilDone(() => this.pauses.resume(APP, { by: 'operator' }));
  }

  private async pause(): Promise<void> {
    const { world } = this.scene.system;
    this.scene.recordAction('application', APP, 'pause');
    await this.untilDone(() => this.pauses.pause(APP, { by: 'operator' }));
    if (!this.isPaused) return;
    this.windows.push({
      fromMs: world.now + RENEWAL_VALID_MS + TRIP_MS,
      toMs: Number.POSITIVE_INFINITY,
    });
  }

  private close(): void {
    for (const window of this.windows) window.toMs = Math.min(window.toMs, this.scene.system.world.now);
  }

  private async disturb({ kind, atMs, part }: NonNullable<PlannedPause['lease']>): Promise<void> {
    const { world, server, client } = this.scene.system;
    await world.sleep(atMs);
    const run = server.latest(LEASE);
    if (!run?.isRunning) return;
    this.scene.recordAction('application', APP, `${kind} of the lease`);
    if (kind === 'reset') this.scene.reset(run, part);
    else await this.scene.ignoreExpectedErrors(APP, () => client.workflow.getHandle(LEASE).terminate());
  }

  /** Repeats what Temporal or a worker did not answer. */
  private async untilDone(send: () => Promise<unknown>): Promise<void> {
    while (!(await this.scene.ignoreExpectedErrors(APP, send))) await this.scene.system.world.sleep(RETRY_MS);
  }
}
