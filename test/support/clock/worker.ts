/** A worker process for the workflows beside this file. `CLOCK_SCENES`: see `clockWorker`. */
import { NativeConnection } from '@temporalio/worker';
import { z } from 'zod';
import { clockWorker } from './clock-worker.ts';

const { TEMPORAL_ADDRESS: address = '', TEMPORAL_NAMESPACE: namespace = '', CLOCK_SCENES = '' } = process.env;

const connection = await NativeConnection.connect({ address });
const scenes = z.array(z.object({ queue: z.string(), codePath: z.string() })).parse(JSON.parse(CLOCK_SCENES));
const workers = await Promise.all(scenes.map((scene) => clockWorker(connection, namespace, scene)));
const running = workers.map((worker) => worker.run());
console.log('clock workers ready');
await Promise.all(running);
