/** A Worker that runs activities of one queue and nothing else. */
import type { Client } from '@temporalio/client';
import type { ActivitySlotInfo, CustomSlotSupplier, Worker, WorkerOptions } from '@temporalio/worker';
import type { WorkerConfig } from '../config/config.ts';
import { dataConverter } from '../encryption/data-converter.ts';
import type { PaymentsClientOptions } from '../payments/index.ts';
import type { Surroundings } from '../surroundings/surroundings.ts';

export interface ApplicationParts {
  config: WorkerConfig;
  client: Client;
  surroundings: Surroundings;
  createWorker: CreateWorker;
  /** HTTP by default. */
  transport?: PaymentsClientOptions['transport'];
}

/** As much of a Worker as those who run one need. */
export type Runnable = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/** A Worker on this process's connection to Temporal. */
export type CreateWorker = (
  options: Omit<WorkerOptions, 'connection' | 'namespace'>,
) => Promise<Runnable & { readonly options: { readonly identity: string } }>;

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
  { config, surroundings, createWorker }: ApplicationParts,
  { taskQueue, activities, slots, polls, graceTime, buildId }: ActivityWorkerOptions,
): Promise<Runnable> {
  return createWorker({
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
