/** Temporal's client retries a call in a timer, which may come after the connection was closed. */
import { isGrpcCancelledError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { connectClient } from '../../src/temporal/connection.ts';
import { newKey } from '../support/keys.ts';
import { startTemporalFront } from '../support/temporal-front.ts';

const UNAVAILABLE = 14;

test('a call that is due to be retried fails when its connection closes, and the process goes on', async () => {
  let refuse = () => {};
  const refused = new Promise<void>((resolve) => {
    refuse = resolve;
  });
  const front = await startTemporalFront(async (path) => {
    if (path.endsWith('/GetSystemInfo')) return new Uint8Array();
    refuse();
    throw Object.assign(new Error(), { code: UNAVAILABLE, details: 'unavailable', metadata: {} });
  });
  try {
    const environment = { TEMPORAL_ADDRESS: front.address, PAYOUTS_ENCRYPTION_KEYS: newKey('k1') };
    const { client, connection } = await connectClient({ environment });
    const described = client.workflow.getHandle('any').describe();
    const failed = described.then(
      () => undefined,
      (error: unknown) => error,
    );
    await refused;
    await connection.close();
    expect(isGrpcCancelledError(await failed)).toBe(true);
  } finally {
    await front.close();
  }
});
