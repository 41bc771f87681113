/** Reads the argument and the memo of a run from the first event of its history. */
import type { Client } from '@temporalio/client';
import {
  decodeArrayFromPayloads,
  decodeMapFromPayloads,
} from '@temporalio/common/lib/internal-non-workflow/index.js';

export async function readStartEvent(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<{ argument: unknown; memo: Record<string, unknown>; firstRunId: string }> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const start = history?.events?.[0]?.workflowExecutionStartedEventAttributes;
  const converter = client.options.loadedDataConverter;
  const [argument] = await decodeArrayFromPayloads(converter, start?.input?.payloads);
  const memo = await decodeMapFromPayloads(converter, start?.memo?.fields);
  return { argument, memo: memo ?? {}, firstRunId: start?.firstExecutionRunId || runId };
}
