/** Publishes the events that a workflow could not publish before its end. Its memo says so, and its query still has them. */
import type { Client } from '@temporalio/client';
import { queueEvents } from '../../client/event-queues.ts';
import { type EventEndpoints, wants } from '../../config/events.ts';
import type { RecordedEvent } from '../../contract/events.ts';
import { eventsQuery } from '../../contract/workflows.ts';
import type { Unresolved } from '../../domain/reconciliation.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { APP } from '../../temporal/search-keys.ts';
import type { ListedRun } from '../../temporal/visibility.ts';
import { forEachReadable, type Verdict } from './unreadable.ts';

export interface MissedEvents {
  client: Client;
  environment: string;
  endpoints: EventEndpoints;
  clock: Clock;
}

/** `runs`: that have completed. Safe to repeat: deliveries recognize the ids of events that they have delivered. */
export async function publishMissed(
  missed: MissedEvents,
  runs: readonly ListedRun[],
  unresolved: Unresolved[],
): Promise<void> {
  const byId = new Map(
    runs
      .filter((run) => missed.endpoints.has(String(run.attribute(APP.name))))
      .map((run) => [run.workflowId, run]),
  );
  await forEachReadable([...byId.keys()], unresolved, (id) => publishOne(missed, byId.get(id)));
}

async function publishOne(missed: MissedEvents, run: ListedRun | undefined): Promise<Verdict<'published'>> {
  const { environment, unpublishedEvents } = (await run?.memo()) ?? {};
  if (!run || !unpublishedEvents || (environment ?? missed.environment) !== missed.environment)
    return 'not-ours';
  const { workflowId, runId } = run;
  const events = await missed.client.workflow.getHandle(workflowId, runId).query(eventsQuery);
  // Only an activity gives an event its time, so one without has never been tried.
  const left = events.filter(({ isQueued, timestamp }) => !isQueued && timestamp !== undefined);
  await queueForAll(missed, String(run.attribute(APP.name)), workflowId, left);
  return 'published';
}

async function queueForAll(
  { client, environment, endpoints, clock }: MissedEvents,
  app: string,
  workflowId: string,
  events: readonly RecordedEvent[],
): Promise<void> {
  for (const endpoint of endpoints.get(app) ?? []) {
    const wanted = events.filter(({ type }) => wants(endpoint, type));
    const key = { environment, app, endpoint: endpoint.name };
    if (wanted.length > 0)
      await queueEvents(client, key, { workflowId, events: wanted }, { atMs: clock.wallMs() });
  }
}
