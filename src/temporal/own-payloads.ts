/** Payloads of a workflow that this process reads itself, and that only our own processes write. */
import type { Client } from '@temporalio/client';
import type { Payload, QueryDefinition, SerializationContext } from '@temporalio/common';
import { decode } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { isForeign } from '../encryption/payload-codec.ts';

type Memo = { fields?: Record<string, Payload> | null } | null | undefined;

/** With it, the codec of clients leaves payloads of other workflows unreadable. */
export function contextOf({ options: { namespace } }: Client, workflowId: string): SerializationContext {
  return { type: 'workflow', namespace, workflowId };
}

/**
 * Decoded. Undefined if it is not encrypted for this workflow, or this activity of it, although this process has keys.
 * Throws `UnknownKeyError`.
 */
export async function ownPayload(
  client: Client,
  workflowId: string,
  payload: Payload,
  activityId?: string,
): Promise<Payload | undefined> {
  const { payloadCodecs } = client.options.loadedDataConverter;
  const [decoded] = await decode(payloadCodecs, [payload]);
  // The codec returns unchanged what is not encrypted, and what its key cannot decrypt.
  const isOwn =
    payloadCodecs.length === 0 ||
    (decoded && decoded !== payload && !isForeign(decoded, { workflowId, activityId }));
  return isOwn ? decoded : undefined;
}

/** The value in it. Undefined and throws as `ownPayload`. */
export async function ownValue<Value>(
  client: Client,
  workflowId: string,
  payload: Payload | undefined,
  activityId?: string,
): Promise<Value | undefined> {
  const own = payload && (await ownPayload(client, workflowId, payload, activityId));
  return own && client.options.loadedDataConverter.payloadConverter.fromPayload<Value>(own);
}

/**
 * Without the fields that are not its own: whoever can write to the namespace can start a workflow with any memo, and it
 * stays readable when a worker has refused the start.
 */
export async function ownMemo(
  client: Client,
  workflowId: string,
  memo: Memo,
): Promise<Record<string, unknown>> {
  const { payloadConverter } = client.options.loadedDataConverter;
  const own: Record<string, unknown> = {};
  for (const [name, payload] of Object.entries(memo?.fields ?? {})) {
    const decoded = await ownPayload(client, workflowId, payload);
    if (decoded) own[name] = payloadConverter.fromPayload(decoded);
  }
  return own;
}

/**
 * The answer to a query without arguments. Throws if it is not encrypted for the workflow, although this process has keys:
 * whoever can write to the namespace can answer it from a task queue of their own.
 */
export async function ownAnswer<Answer>(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId?: string },
  query: QueryDefinition<Answer>,
): Promise<Answer> {
  const { queryResult } = await client.workflowService.queryWorkflow({
    namespace: client.options.namespace,
    execution: { workflowId, ...(runId !== undefined && { runId }) },
    query: { queryType: query.name },
  });
  const answer = await ownValue<Answer>(client, workflowId, queryResult?.payloads?.[0]);
  if (answer === undefined) throw new Error(`the answer of ${workflowId} is not encrypted for it`);
  return answer;
}
