/**
 * Lists runs from the visibility store. The SDK's own list decodes every memo, so one memo with an unknown key would
 * fail the whole list. Here, the caller decodes each memo on demand.
 */
import type { Client } from '@temporalio/client';
import { decodeMapFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto, { type temporal } from '@temporalio/proto';
import { type Clock, Pace } from '../runtime/runtime.ts';
import { unlessGone } from './client-errors.ts';
import { contextOf, ownMemo } from './own-payloads.ts';

const { WorkflowExecutionStatus } = proto.temporal.api.enums.v1;
const PAGE_SIZE = 100;

export interface ListedRun {
  workflowId: string;
  runId: string;
  startedMs: number;
  /** The start of its first run, if the program that started it has recorded that. */
  firstStartedMs: number;
  /** Undefined while the run is open. */
  closedMs: number | undefined;
  isCompleted: boolean;
  /** The workflow type. */
  type: string;
  /** Temporal's status, as the SDK writes it: RUNNING, COMPLETED, FAILED, … */
  status: string;
  /** The value of a search attribute; undefined if it is not set. */
  attribute(name: string): unknown;
  /** Rejects if the memo cannot be decoded. */
  memo(): Promise<Record<string, unknown>>;
  /** Of a workflow that only our own processes start. Rejects like `memo`. */
  ownMemo(): Promise<Record<string, unknown>>;
}

export interface RunPage {
  runs: ListedRun[];
  /** Undefined after the last page. */
  next: Uint8Array | undefined;
}

/** Lists at most `size` runs after the page token `after`. */
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
  const runs = (executions ?? []).map((execution) => listedRun(client, execution));
  return { runs, next: nextPageToken?.length ? nextPageToken : undefined };
}

type ExecutionInfo = proto.temporal.api.workflow.v1.IWorkflowExecutionInfo;

function listedRun(
  client: Client,
  { execution, type, startTime, closeTime, status, memo, searchAttributes }: ExecutionInfo,
): ListedRun {
  const workflowId = execution?.workflowId ?? '';
  const startedMs = startTime ? tsToMs(startTime) : 0;
  return {
    workflowId,
    runId: execution?.runId ?? '',
    startedMs,
    firstStartedMs: Date.parse(String(plainAttribute(searchAttributes, 'PayoutStartedAt'))) || startedMs,
    closedMs: closeTime ? tsToMs(closeTime) : undefined,
    isCompleted: status === WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED,
    type: type?.name ?? '',
    status: statusName(status),
    attribute: (name: string) => plainAttribute(searchAttributes, name),
    memo: async () =>
      (await decodeMapFromPayloads(
        client.options.loadedDataConverter,
        memo?.fields,
        contextOf(client, workflowId),
      )) ?? {},
    ownMemo: () => ownMemo(client, workflowId, memo),
  };
}

/** A run, by default the latest of its workflow, without a list. Undefined if it is gone. */
export function describedRun(
  client: Client,
  workflowId: string,
  runId?: string,
): Promise<(ListedRun & { firstRunId: string }) | undefined> {
  return unlessGone(async () => {
    const { workflowExecutionInfo: info } = await client.workflowService.describeWorkflowExecution({
      namespace: client.options.namespace,
      execution: { workflowId, ...(runId !== undefined && { runId }) },
    });
    const run = listedRun(client, info ?? {});
    return { ...run, firstRunId: info?.firstRunId || run.runId };
  });
}

function statusName(status: number | null | undefined): string {
  const name = WorkflowExecutionStatus[status ?? 0] ?? '';
  // The SDK writes CANCELLED for Temporal's CANCELED.
  return name.replace('WORKFLOW_EXECUTION_STATUS_', '').replace(/^CANCELED$/, 'CANCELLED');
}

/** Search attributes are plain JSON, because Temporal must read them. */
export function plainAttribute(
  attributes: temporal.api.common.v1.ISearchAttributes | null | undefined,
  name: string,
): unknown {
  const data = attributes?.indexedFields?.[name]?.data;
  return data?.length ? JSON.parse(Buffer.from(data).toString()) : undefined;
}

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

/** Each workflow of the query once, by the run that is listed first: the latest. */
export async function* latestRuns(client: Client, query: string): AsyncGenerator<ListedRun> {
  const seen = new Set<string>();
  for await (const runs of listRunPages(client, query, PAGE_SIZE))
    for (const run of runs) {
      if (seen.has(run.workflowId)) continue;
      seen.add(run.workflowId);
      yield run;
    }
}

export async function countRuns(client: Client, query: string): Promise<number> {
  const { namespace } = client.options;
  const { count } = await client.workflowService.countWorkflowExecutions({ namespace, query });
  return Number(count);
}

/**
 * Between two visibility requests of one kind of work in a process. Temporal Cloud allows a namespace 30 per second, which
 * operators, metrics and other processes share.
 */
export const REQUEST_EVERY_MS = 100;

/** The client, with a pause between its lists and counts, however many of them are made concurrently. */
export function withPacedLists(client: Client, clock: Clock): Client {
  const pace = new Pace(clock, REQUEST_EVERY_MS);
  const { workflowService: real } = client;
  const list = async (request: object) => {
    await pace.turn();
    return real.listWorkflowExecutions(request);
  };
  const count = async (request: object) => {
    await pace.turn();
    return real.countWorkflowExecutions(request);
  };
  const workflowService: typeof real = Object.create(real, {
    listWorkflowExecutions: { value: list },
    countWorkflowExecutions: { value: count },
  });
  return Object.create(client, { workflowService: { value: workflowService } });
}

/** The first `max` runs of the query. */
export async function firstRuns(client: Client, query: string, max: number): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  for await (const runs of listRunPages(client, query, PAGE_SIZE)) {
    found.push(...runs);
    if (found.length >= max) break;
  }
  return found.slice(0, max);
}

/** All runs of a workflow id that visibility shows. */
export function listRunsOf(client: Client, workflowId: string): Promise<ListedRun[]> {
  const quote = workflowId.includes("'") ? '"' : "'";
  return firstRuns(client, `WorkflowId = ${quote}${workflowId}${quote}`, Number.POSITIVE_INFINITY);
}

/** Whether an id can be quoted in a visibility query. Every payout's id can. */
export function isQuotable(id: string): boolean {
  return !/['"`\\]/.test(id);
}

/** Ids for a visibility query, quoted and separated by commas. */
export function quoteIds(ids: readonly string[]): string {
  return ids
    .filter(isQuotable)
    .map((id) => `'${id}'`)
    .join(', ');
}

/** Stopped workflows: terminated, timed out or failed. For a visibility query. */
export const STOPPED_STATUSES = "('Terminated', 'TimedOut', 'Failed')";
const STOPPED_NAMES: readonly string[] = ['TERMINATED', 'TIMED_OUT', 'FAILED'];

export function isStopped({ name }: { name: string }): boolean {
  return STOPPED_NAMES.includes(name);
}
