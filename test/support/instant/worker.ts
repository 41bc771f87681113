import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { batchActivities } from '../../../src/activities/batch/batch-activities.ts';
import { preparation } from '../../../src/activities/shared/preparation.ts';
import { workerConfig } from '../../../src/config/config.ts';
import { PAYOUTS_TASK_QUEUE } from '../../../src/contract/ids.ts';
import { PROCESS_RUNTIME } from '../../../src/runtime/process.ts';
import { bundleOptions } from '../../../src/workers/workflow-bundle.ts';
import { FIXED_LOOKS, NEVER_RESET } from '../fixed-looks.ts';
import type { PayoutWorld } from '../payout-world.ts';

const WORKFLOWS = fileURLToPath(new URL('./workflows.ts', import.meta.url));

/** A worker of this world for batches only. Ends when `stop` is called. */
export async function instantWorker(world: PayoutWorld): Promise<{ stop(): Promise<void> }> {
  const config = workerConfig(world.workerEnvironment);
  const connection = await NativeConnection.connect({ address: world.address });
  const worker = await Worker.create({
    connection,
    namespace: world.namespace,
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowBundle: await bundleWorkflowCode(bundleOptions(WORKFLOWS)),
    activities: {
      ...preparation(config, FIXED_LOOKS, NEVER_RESET, PROCESS_RUNTIME),
      ...batchActivities(config, world.client, PROCESS_RUNTIME.clock),
    },
  });
  const running = worker.run();
  return {
    async stop() {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}
