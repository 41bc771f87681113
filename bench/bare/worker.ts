/** A worker as Temporal's first tutorial has it: one queue, workflows and activities together, every default. */
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { connectWorker } from '../../src/temporal/worker-connection.ts';
import * as activities from './activities.ts';

const { connection, namespace } = await connectWorker();
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue: 'bare',
  workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)),
  activities,
});
console.log('bare worker ready');
await worker.run();
