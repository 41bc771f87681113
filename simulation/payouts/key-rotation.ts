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
  private isCurrentAttempt = false;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  begin(): void {
    const { plan, system } = this.scene;
    if (plan.rotation) system.world.spawn(this.rotate(plan.rotation));
  }

  unfinished(): string[] {
    return this.isCurrentAttempt ? ['the rotation of the keys'] : [];
  }

  private async rotate({ atMs, pauseMs }: PlannedRotation): Promise<void> {
    const { world } = this.scene.system;
    this.isCurrentAttempt = true;
    await world.sleep(atMs);
    await this.rollingRestart(`${KEYS},${NEXT_KEYS}`, 'everybody reads the new key');
    await world.sleep(pauseMs);
    await this.rollingRestart(`${NEXT_KEYS},${KEYS}`, 'everybody writes with the new key');
    this.isCurrentAttempt = false;
    world.occurred.add('keys rotated');
  }

  private async rollingRestart(keys: string, what: string): Promise<void> {
    this.scene.note('operator', `rotates the keys: ${what}`);
    await this.scene.system.rollingRestart({ PAYOUTS_ENCRYPTION_KEYS: keys, PAYOUTS_TOKEN_KEYS: keys });
  }
}
