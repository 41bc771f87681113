/** Replaces the keys of payloads and tokens while the world runs, as the runbook says. */
import type { Random } from '../world/random.ts';
import { KEYS, NEXT_KEYS } from './payout-world.ts';
import type { Feature, Scene } from './scene.ts';

export interface PlannedRotation {
  atMs: number;
  /** The time between the rollout that adds the new key for reading and the one that writes with it. */
  pauseMs: number;
}

const ROTATION_PROBABILITY = 0.15;

export function planRotation(random: Random, faultPhaseMs: number): PlannedRotation | undefined {
  if (!random.chance(ROTATION_PROBABILITY)) return undefined;
  return { atMs: random.between(0, 0.5 * faultPhaseMs), pauseMs: random.between(0, 20_000) };
}

export class KeyRotation implements Feature {
  private readonly scene: Scene;
  private isRunning = false;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  begin(): void {
    const { plan, system } = this.scene;
    if (plan.rotation) system.world.spawn(this.rotate(plan.rotation));
  }

  unfinished(): string[] {
    return this.isRunning ? ['the rotation of the keys'] : [];
  }

  private async rotate({ atMs, pauseMs }: PlannedRotation): Promise<void> {
    const { world } = this.scene.system;
    this.isRunning = true;
    await world.sleep(atMs);
    await this.rollOut(`${KEYS},${NEXT_KEYS}`, 'all processes read the new key');
    await world.sleep(pauseMs);
    await this.rollOut(`${NEXT_KEYS},${KEYS}`, 'all processes write with the new key');
    this.isRunning = false;
    world.occurred.add('keys rotated');
  }

  private async rollOut(keys: string, what: string): Promise<void> {
    this.scene.note('operator', `rotates the keys: ${what}`);
    await this.scene.system.rollingRestart({ PAYOUTS_ENCRYPTION_KEYS: keys, PAYOUTS_TOKEN_KEYS: keys });
  }
}
