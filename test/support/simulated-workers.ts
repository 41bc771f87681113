/** Workers of a world in virtual time that have activities or workflows of a test instead of the product's. */
import { Process } from '../../worlds/process/life.ts';
import type { Workflows } from '../../worlds/sdk.ts';
import { SimulatedWorker, type SimulatedWorkerOptions } from '../../worlds/temporal/worker.ts';
import type { VirtualWorld } from './virtual-world.ts';

/** One process with all of them. A worker with a `workflowBundle` has `workflows`. */
export function simulatedWorkers(
  { system: { world, server } }: VirtualWorld,
  workflows: Workflows,
  workers: readonly SimulatedWorkerOptions[],
): { stop(): void } {
  const process = new Process(world, 'worker-of-a-test', (life) => {
    for (const options of workers)
      world.spawn(new SimulatedWorker({ server, life, workflows }, options).run());
  });
  process.start();
  return { stop: () => process.kill() };
}
