/**
 * Runs as the visibility store lists them. The SDK's own list decodes every memo as it goes, so one that this
 * process has no key for would hide all the others; here each is decoded by whoever wants it.
 */
import type { Client } from '@temporalio/client';
import { decodeMapFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';

const COMPLETED = proto.temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED;

export interface ListedRun {
  workflowId: string;
  runId: string;
  startedMs: number;
  /** Undefined while it runs. */
  closedMs: number | undefined;
  /** Ended by its own will, with a result. */
  isCompleted: boolean;
  /** The value of a search attribute; undefined where there is none. */
  attribute(name: string): unknown;
  /** Rejects where it cannot be decoded here. */
  memo(): Promise<Record<string, unknown>>;
}

export interface RunPage {
  runs: ListedRun[];
  /** Undefined after the last page. */
  next: Uint8Array | undefined;
}

/** At most `size` runs from `after` on. */
export async function listRunPage(
  client: Client,
  query: string,
  size: number,
  after?: Uint8Array,
): Promise<RunPage> {
  const { executions, nextPageToken } = await client.workflowService.listWorkflowExecutions({
    namespace: client.options.namespace,
    query,
    pageSize: size,
    ...(after && { nextPageToken: after }),
  });
  const converter = client.options.loadedDataConverter;
  const runs = (executions ?? []).map(
    ({ execution, startTime, closeTime, status, memo, searchAttributes }) => ({
      workflowId: execution?.workflowId ?? '',
      runId: execution?.runId ?? '',
      startedMs: startTime ? tsToMs(startTime) : 0,
      closedMs: closeTime ? tsToMs(closeTime) : undefined,
      isCompleted: status === COMPLETED,
      attribute: (name: string) => plain(searchAttributes?.indexedFields?.[name]?.data),
      memo: async () => (await decodeMapFromPayloads(converter, memo?.fields)) ?? {},
    }),
  );
  return { runs, next: nextPageToken?.length ? nextPageToken : undefined };
}

/** The engine needs to read search attributes, so they are JSON whatever the codec. */
function plain(data: Uint8Array | null | undefined): unknown {
  return data ? JSON.parse(Buffer.from(data).toString()) : undefined;
}

/** Every run, a page at a time. */
export async function* listRunPages(
  client: Client,
  query: string,
  size: number,
): AsyncGenerator<ListedRun[]> {
  let next: Uint8Array | undefined;
  do {
    const page = await listRunPage(client, query, size, next);
    next = page.next;
    yield page.runs;
  } while (next);
}

/** An id that could end the quoted text of a query is none of a payout's. */
export function isQuotable(id: string): boolean {
  return !/['"`\\]/.test(id);
}

/** Ids as a query takes them. */
export function quoteIds(workflowIds: readonly string[]): string {
  return workflowIds
    .filter(isQuotable)
    .map((id) => `'${id}'`)
    .join(', ');
}
