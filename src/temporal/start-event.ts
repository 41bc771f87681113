/** Reads the first events of a run's history. */
import type { Client } from '@temporalio/client';
import {
  decodeArrayFromPayloads,
  decodeMapFromPayloads,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { temporal } from '@temporalio/proto';

export async function firstEvents(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
  max: number,
): Promise<temporal.api.history.v1.IHistoryEvent[]> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: max,
  });
  return history?.events ?? [];
}

export async function readStartEvent(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<{ argument: unknown; memo: Record<string, unknown>; firstRunId: string }> {
  const [first] = await firstEvents(client, { workflowId, runId }, 1);
  const start = first?.workflowExecutionStartedEventAttributes;
  const converter = client.options.loadedDataConverter;
  const [argument] = await decodeArrayFromPayloads(converter, start?.input?.payloads);
  const memo = await decodeMapFromPayloads(converter, start?.memo?.fields);
  return { argument, memo: memo ?? {}, firstRunId: start?.firstExecutionRunId || runId };
}
