/** Determines the environment of a run, because several environments may share a namespace. */
import type { Client } from '@temporalio/client';
import { environmentOfQueue } from '../contract/ids.ts';
import { firstEvents } from './start-event.ts';

/** These include a payout's first call, if it has made any. */
const FIRST_EVENTS = 60;

/** From the run's memo or from the task queue of its calls; undefined if neither names the environment. */
export async function environmentOf(
  client: Client,
  run: { workflowId: string; runId: string },
  memo: Record<string, unknown>,
): Promise<string | undefined> {
  if (typeof memo['environment'] === 'string') return memo['environment'];
  const events = await firstEvents(client, run, FIRST_EVENTS);
  for (const { activityTaskScheduledEventAttributes: scheduled } of events) {
    const environment = environmentOfQueue(scheduled?.taskQueue?.name ?? '');
    if (environment !== undefined) return environment;
  }
  return undefined;
}
