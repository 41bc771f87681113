/** Starts the deliveries of this process's endpoints, so that operators see and test an endpoint before its first event. */
import type { Client } from '@temporalio/client';
import { deliveryOptions } from '../client/event-queues.ts';
import type { WorkerConfig } from '../config/config.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { Clock } from '../surroundings/surroundings.ts';
import { messageOf } from '../temporal/client-errors.ts';

const RETRY_MS = 5_000;
/** A delivery that was stopped starts again. What it knew is lost; the workflows still have their events. */
const CHECK_EVERY_MS = 60_000;

/** Runs in the background until the returned function is called. */
export function keepDeliveries(client: Client, { env, events }: WorkerConfig, clock: Clock): () => void {
  let cancelTimer: () => void = () => undefined;
  let isStopped = false;
  let isLogged = false;
  const keys = [...events].flatMap(([app, endpoints]) =>
    endpoints.map(({ name: endpoint }) => ({ environment: env.PAYMENTS_ENVIRONMENT, app, endpoint })),
  );
  const ensure = async () => {
    for (const key of keys)
      await client.workflow.start<WorkflowSignatures['eventDelivery']>('eventDelivery', {
        ...deliveryOptions(key),
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
  };
  const check = () => {
    ensure().then(
      () => again(CHECK_EVERY_MS),
      (error: unknown) => {
        if (!isLogged) console.error(`cannot start the deliveries of events yet: ${messageOf(error)}`);
        isLogged = true;
        again(RETRY_MS);
      },
    );
  };
  const again = (ms: number) => {
    if (!isStopped) cancelTimer = clock.after(ms, check);
  };
  if (keys.length > 0) check();
  return () => {
    isStopped = true;
    cancelTimer();
  };
}
