/** Reads histories: whole, or their first events, which tell how a run was started and for which environment. */
import type { Client, WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import type { Workflow, WorkflowResultType } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  decodeMapFromPayloads,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { environmentOfQueue } from '../contract/ids.ts';
import { startFactsIn } from '../contract/memo.ts';
import { unlessGone } from './client-errors.ts';
import { contextOf, ownPayload, ownValue } from './own-payloads.ts';
import { plainAttribute } from './visibility.ts';

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

export interface WorkflowRun {
  workflowId: string;
  runId: string;
}

/** Undefined if the history was deleted. */
export function wholeHistory(
  { workflowService, options: { namespace } }: Client,
  { workflowId, runId }: WorkflowRun,
): Promise<HistoryEvent[] | undefined> {
  const execution = { workflowId, runId };
  return unlessGone(async () => {
    const events: HistoryEvent[] = [];
    let nextPageToken: Uint8Array | null | undefined;
    do {
      const request = { namespace, execution, ...(nextPageToken && { nextPageToken }) };
      const page = await workflowService.getWorkflowExecutionHistory(request);
      events.push(...(page.history?.events ?? []));
      ({ nextPageToken } = page);
    } while (nextPageToken?.length);
    return events;
  });
}

export async function firstEvents(
  client: Client,
  { workflowId, runId }: WorkflowRun,
  max: number,
): Promise<HistoryEvent[]> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: max,
  });
  return history?.events ?? [];
}

/** The last events, the newest first. */
export async function lastEvents(
  { workflowService, options: { namespace } }: Client,
  { workflowId, runId }: WorkflowRun,
  maximumPageSize: number,
): Promise<HistoryEvent[]> {
  const execution = { workflowId, runId };
  const request = { namespace, execution, maximumPageSize };
  return (await workflowService.getWorkflowExecutionHistoryReverse(request)).history?.events ?? [];
}

/** The result of a completed run, if it is encrypted for its workflow or this process has no keys. */
export async function ownResultOf(client: Client, run: WorkflowRun): Promise<unknown> {
  const [last] = await lastEvents(client, run, 1);
  const { result } = last?.workflowExecutionCompletedEventAttributes ?? {};
  return ownValue(client, run.workflowId, result?.payloads?.[0]);
}

/**
 * The result of a workflow that this process has started. Throws if it isn't encrypted for the workflow, although this
 * process has keys: whoever can poll its task queue can complete it.
 */
export async function ownResult<T extends Workflow>(
  client: Client,
  handle: WorkflowHandleWithFirstExecutionRunId<T>,
): Promise<WorkflowResultType<T>> {
  const { workflowId, firstExecutionRunId: runId } = handle;
  const result = await handle.result();
  if (client.options.loadedDataConverter.payloadCodecs.length === 0) return result;
  if ((await ownResultOf(client, { workflowId, runId })) !== undefined) return result;
  throw new Error(`the result of ${workflowId} is not encrypted for it`);
}

interface StartEvent {
  argument: unknown;
  /** The argument and the memo are encrypted for this workflow, or this process has no keys. */
  isEncrypted(): Promise<boolean>;
  memo: Record<string, unknown>;
  /** By which the payout is found. Undefined if the program that started it has no keys. */
  hashes: string[] | undefined;
  firstRunId: string;
  /** Unix milliseconds. */
  startedMs: number;
}

const startHashes = z.array(z.string());

export async function readStartEvent(client: Client, workflowId: string, runId: string): Promise<StartEvent> {
  const [first] = await firstEvents(client, { workflowId, runId }, 1);
  const start = first?.workflowExecutionStartedEventAttributes;
  const converter = client.options.loadedDataConverter;
  const context = contextOf(client, workflowId);
  const [argument] = await decodeArrayFromPayloads(converter, start?.input?.payloads, context);
  const memo = await decodeMapFromPayloads(converter, start?.memo?.fields, context);
  const payloads = [...(start?.input?.payloads ?? []), ...Object.values(start?.memo?.fields ?? {})];
  // Few readers ask, so only they decrypt again.
  const isEncrypted = async () => {
    const own = await Promise.all(payloads.map((payload) => ownPayload(client, workflowId, payload)));
    return own.every((payload) => payload !== undefined);
  };
  const hashes = startHashes.safeParse(plainAttribute(start?.searchAttributes, 'PayoutKeys')).data;
  const startedMs = first?.eventTime ? tsToMs(first.eventTime) : 0;
  const firstRunId = start?.firstExecutionRunId || runId;
  return { argument, isEncrypted, memo: memo ?? {}, hashes, firstRunId, startedMs };
}

/** These include a payout's first call, if it has made any. */
const FIRST_EVENTS = 60;

/**
 * Several environments may share a namespace, so from the run's memo or from the task queue of its calls; undefined if neither names the environment.
 */
export async function environmentOf(
  client: Client,
  run: WorkflowRun,
  memo: Record<string, unknown>,
): Promise<string | undefined> {
  const { environment: meant } = startFactsIn(memo);
  if (typeof meant === 'string') return meant;
  const events = await firstEvents(client, run, FIRST_EVENTS);
  for (const { activityTaskScheduledEventAttributes: scheduled } of events) {
    const environment = environmentOfQueue(scheduled?.taskQueue?.name ?? '');
    if (environment !== undefined) return environment;
  }
  return undefined;
}
