import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { isGone, isRetryableTemporalError } from '../../src/temporal/client-errors.ts';
import { firstEvents } from '../../src/temporal/histories.ts';

const RUN = { workflowId: 'payout:default:never-started', runId: '0b7ab3c0-0000-4000-8000-000000000000' };

const address = () => ({ address: inject('temporalAddress') });

// Their errors carry the gRPC code in different places.
test.each([
  ['a client', async () => Connection.connect(address())],
  ['a worker', async () => NativeConnection.connect(address())],
] as const)('over the connection of %s, a missing history is gone', async (_of, connect) => {
  const connection = await connect();
  try {
    const client = new Client({ connection });
    const reads = [
      () => firstEvents(client, RUN, 1),
      () => client.workflow.getHandle(RUN.workflowId, RUN.runId).fetchHistory(),
      () => client.workflow.getHandle(RUN.workflowId).describe(),
    ];
    for (const read of reads) await expect(read().catch(isGone)).resolves.toBe(true);
    const invalid = firstEvents(client, { ...RUN, runId: 'no-run-id' }, 1);
    await expect(invalid.catch(isRetryableTemporalError)).resolves.toBe(false);
  } finally {
    await connection.close();
  }
});
