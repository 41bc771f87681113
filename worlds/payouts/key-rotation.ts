/** Replaces the keys of payloads and tokens while the world runs, as the runbook says. */
import type { Random } from '../engine/random.ts';
import { KEYS, NEXT_KEYS } from './payout-world.ts';
import type { PlannedRotation } from './planned.ts';
import { PlannedTask } from './scene.ts';

const ROTATION_PROBABILITY = 0.15;

export function planRotation(random: Random, faultPhaseMs: number): PlannedRotation | undefined {
  if (!random.chance(ROTATION_PROBABILITY)) return undefined;
  return { atMs: random.between(0, 0.5 * faultPhaseMs), pauseMs: random.between(0, 20_000) };
}

export class KeyRotation extends PlannedTask {
  protected readonly task = 'the rotation of the keys';

  begin(): void {
    const { rotation } = this.scene.plan;
    if (rotation) this.plan(rotation.atMs, () => this.rotate(rotation), 'keys rotated');
  }

  private async rotate({ pauseMs }: PlannedRotation): Promise<void> {
    await this.rollOut(`${KEYS},${NEXT_KEYS}`, 'all processes read the new key');
    await this.scene.system.world.sleep(pauseMs);
    await this.rollOut(`${NEXT_KEYS},${KEYS}`, 'all processes write with the new key');
  }

  private async rollOut(keys: string, what: string): Promise<void> {
    this.scene.note('operator', `rotates the keys: ${what}`);
    await this.scene.system.rollingRestart({
      PAYOUTS_ENCRYPTION_KEYS: keys,
      PAYOUTS_TOKEN_KEYS: keys,
      PAYOUTS_AUTHORIZATION_KEYS: keys,
    });
  }
}
