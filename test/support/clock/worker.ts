/** A worker process for the workflows beside this file. `CLOCK_BUNDLE` is a file. */
import { NativeConnection, Worker } from '@temporalio/worker';
import { FAILURE_CONVERTER_PATH } from '../../../src/encryption/data-converter.ts';

const {
  TEMPORAL_ADDRESS = '',
  TEMPORAL_NAMESPACE = '',
  CLOCK_QUEUE = '',
  CLOCK_BUNDLE = '',
  CLOCK_STICKY_MS,
} = process.env;

const worker = await Worker.create({
  connection: await NativeConnection.connect({ address: TEMPORAL_ADDRESS }),
  namespace: TEMPORAL_NAMESPACE,
  taskQueue: CLOCK_QUEUE,
  workflowBundle: { codePath: CLOCK_BUNDLE },
  dataConverter: { failureConverterPath: FAILURE_CONVERTER_PATH },
  stickyQueueScheduleToStartTimeout: Number(CLOCK_STICKY_MS),
});
const running = worker.run();
console.log('clock worker ready');
await running;
