/** Upgrades the workers while the world runs: they change from the released workflow code to the newest. */
import type { Random } from '../engine/random.ts';
import type { PlannedUpgrade } from './planned.ts';
import { PlannedTask } from './scene.ts';

const UPGRADE_PROBABILITY = 0.15;

export function planUpgrade(random: Random, faultPhaseMs: number): PlannedUpgrade | undefined {
  return random.chance(UPGRADE_PROBABILITY) ? { atMs: random.between(0, 0.8 * faultPhaseMs) } : undefined;
}

export class Upgrade extends PlannedTask {
  protected readonly task = 'the upgrade of the workers';

  begin(): void {
    const { plan, system } = this.scene;
    if (!plan.upgrade) return;
    const upgrade = async () => {
      this.scene.note('operator', 'upgrades the workers: stops all of them, then starts the new code');
      await system.upgrade();
    };
    this.plan(plan.upgrade.atMs, upgrade, 'workers upgraded');
  }
}
