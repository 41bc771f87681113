/**
 * What is known of a renewal's run that was ended by force, read from its stored history: what it was started with, and
 * every grant since. No query: a run that could not go on answers none, and that may be why somebody ended it.
 */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { z } from 'zod';
import type { Grant } from '../../domain/token-record.ts';

export interface EndedRun {
  args: unknown[];
  /** The last one stands, whether or not the run has looked at it. */
  grants: { grant: Grant; askedAtMs: number }[];
}

type Event = NonNullable<History['events']>[number];

const GRANTING: readonly string[] = ['fetchApplicationToken', 'refreshUserToken'];

const grantSchema = z.object({
  access: z.string(),
  fingerprint: z.string(),
  livesMs: z.number(),
  refresh: z.string().optional(),
  refreshLivesMs: z.number().optional(),
});

/** Undefined: its history is gone. */
export async function endedRun(
  client: Client,
  workflowId: string,
  runId: string,
  signalName: string,
): Promise<EndedRun | undefined> {
  const events = await eventsOf(client, workflowId, runId);
  if (!events) return undefined;
  const converter = client.options.loadedDataConverter;
  const start = events[0]?.workflowExecutionStartedEventAttributes;
  const grants: EndedRun['grants'] = [];
  for (const event of events) {
    const given = givenBy(event, events, signalName);
    if (!given) continue;
    const [first] = (await decodeArrayFromPayloads(converter, given.payloads)) ?? [];
    const grant = grantSchema.safeParse(first);
    if (grant.success) grants.push({ grant: grant.data, askedAtMs: given.askedAtMs });
  }
  return { args: (await decodeArrayFromPayloads(converter, start?.input?.payloads)) ?? [], grants };
}

/** A renewal's answer, or a signal that hands over what an authorization brought. */
function givenBy(event: Event, events: readonly Event[], signalName: string) {
  const { workflowExecutionSignaledEventAttributes: signal, activityTaskCompletedEventAttributes: answer } =
    event;
  if (signal?.signalName === signalName) return { payloads: signal.input?.payloads, askedAtMs: msOf(event) };
  const scheduled = answer && events.find(({ eventId }) => eventId?.equals(answer.scheduledEventId ?? 0));
  const type = scheduled?.activityTaskScheduledEventAttributes?.activityType?.name ?? '';
  if (!scheduled || !GRANTING.includes(type)) return undefined;
  return { payloads: answer?.result?.payloads, askedAtMs: msOf(scheduled) };
}

function msOf({ eventTime }: Event): number {
  return eventTime ? tsToMs(eventTime) : 0;
}

async function eventsOf(client: Client, workflowId: string, runId: string) {
  try {
    return (await client.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
