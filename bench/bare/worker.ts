/**
 * A worker as in Temporal's first tutorial: one queue for workflows and activities, all defaults; and a second worker for the
 * calls with a separate queue.
 */

import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { connectWorker } from '../../src/temporal/worker-connection.ts';
import { bareActivities } from './activities.ts';

const { connection, namespace, client } = await connectWorker(PROCESS_RUNTIME);
const activities = bareActivities(client);
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue: 'bare',
  workflowsPath: fileURLToPath(new URL('./workflow.ts', import.meta.url)),
  activities,
});
const calls = await Worker.create({ connection, namespace, taskQueue: 'bare-calls', activities });
console.log('bare worker ready');
await Promise.all([worker.run(), calls.run()]);
