/** A worker for the workflows beside this file. */
import { type NativeConnection, Worker } from '@temporalio/worker';
import { FAILURE_CONVERTER_PATH } from '../../../src/encryption/payload-codec.ts';

const STICKY_MS = 7_000;

/** `codePath`: a bundle. */
export interface ClockScene {
  queue: string;
  codePath: string;
}

export function clockWorker(
  connection: NativeConnection,
  namespace: string,
  { queue, codePath }: ClockScene,
): Promise<Worker> {
  return Worker.create({
    ...{ connection, namespace, taskQueue: queue, workflowBundle: { codePath } },
    dataConverter: { failureConverterPath: FAILURE_CONVERTER_PATH },
    stickyQueueScheduleToStartTimeout: STICKY_MS,
  });
}
