/** A Worker that runs activities of one queue and nothing else. */

import type { NativeConnection } from '@temporalio/worker';
import { type ActivitySlotInfo, type CustomSlotSupplier, Worker } from '@temporalio/worker';
import type { WorkerConfig } from '../../config/config.ts';
import { dataConverter } from '../../encryption/data-converter.ts';
import type { Surroundings } from '../../surroundings/surroundings.ts';

export interface ActivityWorkerParts {
  config: WorkerConfig;
  connection: NativeConnection;
  namespace: string;
  surroundings: Surroundings;
}

export interface ActivityWorkerOptions {
  taskQueue: string;
  activities: object;
  slots: CustomSlotSupplier<ActivitySlotInfo> | { type: 'fixed-size'; numSlots: number };
  /** Polls that are open at once; never more than there are slots for. */
  polls: number;
  /** What is under way may finish for so long. */
  graceTime: string | number;
  /** One process may still be ending a Worker of the same queue: the engine's client tells them apart by this. */
  buildId?: string;
}

/** There are no tasks of these kinds on such a queue. */
const NONE = { type: 'fixed-size', numSlots: 2 } as const;
/** How often the SDK passes heartbeats on at least; its own default is too slow for a lease. */
const HEARTBEATS_PASS_EVERY = '1s';

export function activityWorker(
  { config, connection, namespace, surroundings }: ActivityWorkerParts,
  { taskQueue, activities, slots, polls, graceTime, buildId }: ActivityWorkerOptions,
): Promise<Worker> {
  return Worker.create({
    connection,
    namespace,
    taskQueue,
    activities,
    dataConverter: dataConverter(config.keys.payloads, surroundings.random),
    tuner: {
      activityTaskSlotSupplier: slots,
      workflowTaskSlotSupplier: NONE,
      localActivityTaskSlotSupplier: NONE,
      nexusTaskSlotSupplier: NONE,
    },
    maxConcurrentActivityTaskPolls: polls,
    maxHeartbeatThrottleInterval: HEARTBEATS_PASS_EVERY,
    shutdownGraceTime: graceTime,
    ...(buildId && { buildId }),
  });
}
