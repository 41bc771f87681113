/** Hands the events of a workflow to the deliveries of the endpoints that want them. */
import type { Client } from '@temporalio/client';
import { queueEvents } from '../../client/event-queues.ts';
import type { WorkerConfig } from '../../config/config.ts';
import { wantedTypes, wants } from '../../config/events.ts';
import type { EventType } from '../../contract/codes.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { onlyHere } from '../shared/execution.ts';
import type { PublishActivities } from './event-types.ts';

export function publishActivities(config: WorkerConfig, client: Client, clock: Clock): PublishActivities {
  const here = onlyHere(config.env.PAYMENTS_ENVIRONMENT, clock);
  return {
    publishEvents: (publish) =>
      here(publish, async () => {
        const { environment, app, workflowId, events } = publish;
        const queued = await Promise.allSettled(
          (config.events.get(app) ?? []).map(async (endpoint) => {
            const wanted = events.filter(({ type }) => wants(endpoint, type));
            if (wanted.length === 0) return;
            const key = { environment, app, endpoint: endpoint.name };
            await queueEvents(client, key, { workflowId, events: wanted }, { atMs: clock.wallMs() });
          }),
        );
        // An endpoint that cannot take them must not keep them from the others. The retry repeats them; deliveries
        // recognize repeated ids.
        for (const one of queued) if (one.status === 'rejected') throw one.reason;
      }),
  };
}

/** For the result of the first activity of a workflow. */
export function eventTypesOf({ events }: WorkerConfig, app: string): { eventTypes?: EventType[] } {
  const eventTypes = wantedTypes(events, app);
  return eventTypes ? { eventTypes } : {};
}
