/** Publishes the events that a workflow could not publish before its end. Its memo says so, and its query still has them. */
import type { Client } from '@temporalio/client';
import { queueEvents } from '../../client/event-queues.ts';
import { type EventEndpoints, wants } from '../../config/events.ts';
import { eventsQuery } from '../../contract/event-messages.ts';
import type { RecordedEvent } from '../../domain/event-log.ts';
import type { NotReconciled } from '../../domain/reconciliation.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { APP } from '../../temporal/search-keys.ts';
import { type ListedRun, listRunPages, quoteIds } from '../../temporal/visibility.ts';
import { forEachReadable, type Verdict } from './unreadable.ts';

const PUBLISHERS = "('payout', 'payoutFollowUp', 'payoutBatch')";
const PAGE_SIZE = 100;

export interface MissedEvents {
  client: Client;
  environment: string;
  endpoints: EventEndpoints;
  clock: Clock;
}

/** Safe to repeat: deliveries recognize the ids of events that they have delivered. */
export async function publishMissed(missed: MissedEvents, closedAfterMs: number): Promise<NotReconciled[]> {
  const apps = quoteIds([...missed.endpoints.keys()]);
  const notReconciled: NotReconciled[] = [];
  if (apps === '') return notReconciled;
  const query =
    `WorkflowType IN ${PUBLISHERS} AND ExecutionStatus = 'Completed' AND PayoutApp IN (${apps})` +
    ` AND CloseTime >= '${new Date(closedAfterMs).toISOString()}'`;
  for await (const runs of listRunPages(missed.client, query, PAGE_SIZE)) {
    const byId = new Map(runs.map((run) => [run.workflowId, run]));
    await forEachReadable([...byId.keys()], notReconciled, (id) => publishOne(missed, byId.get(id)));
  }
  return notReconciled;
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
