/** Upgrades the workers while the world runs: they change from the released workflow code to the newest. */
import type { Random } from '../world/random.ts';
import type { Feature, Scene } from './scene.ts';

export interface PlannedUpgrade {
  atMs: number;
}

const UPGRADE_PROBABILITY = 0.15;

export function planUpgrade(random: Random, faultPhaseMs: number): PlannedUpgrade | undefined {
  return random.chance(UPGRADE_PROBABILITY) ? { atMs: random.between(0, 0.8 * faultPhaseMs) } : undefined;
}

export class Upgrade implements Feature {
  private readonly scene: Scene;
  private isRunning = false;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  begin(): void {
    const { plan, system } = this.scene;
    if (plan.upgrade) system.world.spawn(this.upgrade(plan.upgrade));
  }

  unfinished(): string[] {
    return this.isRunning ? ['the upgrade of the workers'] : [];
  }

  private async upgrade({ atMs }: PlannedUpgrade): Promise<void> {
    const { system } = this.scene;
    this.isRunning = true;
    await system.world.sleep(atMs);
    this.scene.note('operator', 'upgrades the workers: stops all of them, then starts the new code');
    await system.upgrade();
    this.isRunning = false;
    system.world.occurred.add('workers upgraded');
  }
}
