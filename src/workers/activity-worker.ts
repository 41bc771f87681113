/** Creates Workers for the task queues that run only activities. */
import type { Client } from '@temporalio/client';
import type { MetricMeter } from '@temporalio/common';
import type { ActivitySlotInfo, CustomSlotSupplier, Worker, WorkerOptions } from '@temporalio/worker';
import { plainPayloads, type WorkerConfig } from '../config/config.ts';
import { workerConverter } from '../encryption/payload-codec.ts';
import type { PaymentsClientOptions } from '../payments/index.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { EventTransport } from '../webhooks/event-transport.ts';

export interface ApplicationParts extends Pick<PaymentsClientOptions, 'transport'> {
  config: WorkerConfig;
  client: Client;
  runtime: Runtime;
  /** Default: HTTP. */
  eventTransport?: EventTransport;
  createWorker: CreateWorker;
  /** Where the process records metrics. Default: nowhere. */
  meter?: MetricMeter;
}

export type Runnable = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/** Creates a Worker on this process's connection to Temporal. */
export type CreateWorker = (
  options: Omit<WorkerOptions, 'connection' | 'namespace'>,
) => Promise<Runnable & { readonly options: { readonly identity: string } }>;

export interface ActivityQueue {
  taskQueue: string;
  activities: object;
  slots: CustomSlotSupplier<ActivitySlotInfo> | { type: 'fixed-size'; numSlots: number };
  /** The maximum number of concurrent polls. At most one per slot. */
  polls: number;
  /** After a shutdown request, running activities have this long to finish. */
  shutdownGraceTime: number;
}

/** These queues have no tasks of other kinds. */
const UNUSED = { type: 'fixed-size', numSlots: 2 } as const;

/** `buildId` distinguishes Workers of one queue in one process: a new one may start while the last one still ends. */
export function activityWorker(
  { config, runtime, createWorker }: ApplicationParts,
  { slots, polls, ...queue }: ActivityQueue,
  buildId?: string,
): Promise<Runnable> {
  return createWorker({
    ...queue,
    dataConverter: workerConverter(config.keys.payloads, runtime.random, plainPayloads(config)),
    tuner: {
      activityTaskSlotSupplier: slots,
      workflowTaskSlotSupplier: UNUSED,
      localActivityTaskSlotSupplier: UNUSED,
      nexusTaskSlotSupplier: UNUSED,
    },
    // The SDK ignores `maxConcurrentActivityTaskPolls`.
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: polls },
    ...(buildId && { buildId }),
  });
}

export function shutDown(worker: Runnable): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}
