/** The keys of payloads and of tokens are replaced in the middle of a world, as the runbook says: all goes on. */
import type { Random } from '../world/random.ts';
import { KEYS, NEXT_KEYS } from './payout-world.ts';
import type { Feature, Scene } from './scene.ts';

export interface PlannedRotation {
  atMs: number;
  /** Between a new key that all can read, and one that all write. */
  pauseMs: number;
}

const ROTATED = 0.15;

export function rotationIn(random: Random, troubleMs: number): PlannedRotation | undefined {
  if (!random.chance(ROTATED)) return undefined;
  return { atMs: random.between(0, 0.5 * troubleMs), pauseMs: random.between(0, 20_000) };
}

export class KeyRotation implements Feature {
  private readonly scene: Scene;
  private isUnderWay = false;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  begin(): void {
    const { plan, there } = this.scene;
    if (plan.rotation) there.world.spawn(this.rotate(plan.rotation));
  }

  unfinished(): string[] {
    return this.isUnderWay ? ['the rotation of the keys'] : [];
  }

  private async rotate({ atMs, pauseMs }: PlannedRotation): Promise<void> {
    const { world } = this.scene.there;
    this.isUnderWay = true;
    await world.sleep(atMs);
    await this.roll(`${KEYS},${NEXT_KEYS}`, 'everybody reads the new key');
    await world.sleep(pauseMs);
    await this.roll(`${NEXT_KEYS},${KEYS}`, 'everybody writes with the new key');
    this.isUnderWay = false;
    world.met.add('keys rotated');
  }

  private async roll(keys: string, what: string): Promise<void> {
    this.scene.tell('operator', `rotates the keys: ${what}`);
    await this.scene.there.roll({ PAYOUTS_ENCRYPTION_KEYS: keys, PAYOUTS_TOKEN_KEYS: keys });
  }
}
