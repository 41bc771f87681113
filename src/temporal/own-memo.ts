/** Memos that only our own processes write. */
import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { decodeMapFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { keyIdOf } from '../encryption/payload-codec.ts';

/**
 * Without the fields that are not encrypted, although this process has keys: whoever can write to the namespace can start a
 * workflow with any memo, and it stays readable when a worker has refused the start.
 */
export async function ownMemo(
  client: Client,
  memo: { fields?: Record<string, Payload> | null } | null | undefined,
): Promise<Record<string, unknown>> {
  const converter = client.options.loadedDataConverter;
  const isOwn = (payload: Payload) => converter.payloadCodecs.length === 0 || keyIdOf(payload) !== undefined;
  const own = Object.entries(memo?.fields ?? {}).filter(([, payload]) => isOwn(payload));
  return (await decodeMapFromPayloads(converter, Object.fromEntries(own))) ?? {};
}
