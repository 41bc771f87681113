/** Starts the deliveries of this process's endpoints, so that operators see and test an endpoint before its first event. */
import type { Client } from '@temporalio/client';
import { deliveryOptions } from '../client/event-queues.ts';
import type { WorkerConfig } from '../config/config.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { ProblemLog } from '../observability/log.ts';
import type { Clock } from '../runtime/runtime.ts';
import { inBackground } from './in-background.ts';

/** A delivery that was stopped starts again. What it knew is lost; the workflows still have their events. */
const CHECK_EVERY_MS = 60_000;

/** Runs in the background until the returned function is called. */
export function keepDeliveries(
  client: Client,
  { env, events }: WorkerConfig,
  clock: Clock,
  log: ProblemLog,
): () => void {
  const keys = [...events].flatMap(([app, endpoints]) =>
    endpoints.map(({ name: endpoint }) => ({ environment: env.PAYMENTS_ENVIRONMENT, app, endpoint })),
  );
  if (keys.length === 0) return () => undefined;
  const ensure = async () => {
    for (const key of keys)
      await client.workflow.start<WorkflowSignatures['eventDelivery']>('eventDelivery', {
        ...deliveryOptions(key),
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
  };
  const failure = 'cannot start the deliveries of events yet';
  return inBackground(clock, { ensure, failure, log, everyMs: CHECK_EVERY_MS });
}
