/** A renewal's run that was ended by force, read from its stored history: what it was given and never looked at. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';

export interface EndedRun {
  /** It did something; otherwise everything it ever knew are its arguments and signals. */
  began: boolean;
  args: unknown[];
  /** Arguments of the `authorized` signals that came after it last did something. */
  unheard: unknown[][];
}

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
  const last = events.findLastIndex((event) => event.workflowTaskCompletedEventAttributes);
  const start = events[0]?.workflowExecutionStartedEventAttributes;
  const signals = events
    .slice(last + 1)
    .flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
      signal?.signalName === signalName ? [signal] : [],
    );
  return {
    began: last >= 0,
    args: (await decodeArrayFromPayloads(converter, start?.input?.payloads)) ?? [],
    unheard: await Promise.all(
      signals.map(async ({ input }) => (await decodeArrayFromPayloads(converter, input?.payloads)) ?? []),
    ),
  };
}

async function eventsOf(client: Client, workflowId: string, runId: string) {
  try {
    return (await client.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
