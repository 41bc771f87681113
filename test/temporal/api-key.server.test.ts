/** The connection to Temporal Cloud: TLS, and an API key that is rotated without a restart. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Payouts } from '../../src/client/payouts.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import { temporaryFolder } from '../setup/fakes.ts';
import { type ApiKeyFront, startApiKeyFront } from '../support/api-key-front.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { startProgram } from '../support/processes.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let world: PayoutWorld;
beforeAll(async () => {
  world = await PayoutWorld.start({ idle: true });
});
afterAll(() => world.stop());

function environmentOf(front: ApiKeyFront, keyFile: string) {
  return {
    ...world.workerEnvironment,
    TEMPORAL_ADDRESS: front.address,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: front.certificateFile,
    TEMPORAL_API_KEY: `file:${keyFile}`,
  };
}

test('a worker and a client use a new API key after its file changed, without a restart', async () => {
  const folder = temporaryFolder();
  const front = await startApiKeyFront(inject('temporalAddress'), folder);
  const keyFile = join(folder, 'api-key');
  front.accepted.add('first-key');
  writeFileSync(keyFile, 'first-key\n');
  const environment = environmentOf(front, keyFile);
  const worker = await startProgram('src/workers/main.ts', environment, /worker ready/);
  const { client, connection } = await connectClient({ environment });
  try {
    const payouts = new Payouts({ client, environment: 'test' });
    const pay = async () => {
      const request = payoutRequest(newPartnerOrderId());
      await payouts.start(request);
      return payouts.result(request);
    };
    expect(await pay()).toMatchObject({ outcome: 'SUCCESS' });

    front.accepted.add('second-key');
    writeFileSync(keyFile, 'second-key\n');
    // A long poll keeps the key with which it began, so payouts end the open ones.
    const rotated = new Set<string>();
    while (!rotated.has('PollWorkflowTaskQueue') || !rotated.has('StartWorkflowExecution')) {
      expect(await pay()).toMatchObject({ outcome: 'SUCCESS' });
      for (const { key, path } of front.seen())
        if (key === 'second-key') rotated.add(path.split('/').at(-1) ?? '');
    }
    front.accepted.delete('first-key');
    expect(await pay()).toMatchObject({ outcome: 'SUCCESS' });
    expect(front.seen().map(({ key }) => key)).not.toContain('');
  } finally {
    await connection.close();
    await worker.stop('SIGTERM');
    await front.close();
  }
});

test('a worker with a wrong API key ends, and its message does not contain the key', async () => {
  const folder = temporaryFolder();
  const front = await startApiKeyFront(inject('temporalAddress'), folder);
  const keyFile = join(folder, 'api-key');
  writeFileSync(keyFile, 'wrong-key');
  const starting = startProgram('src/workers/main.ts', environmentOf(front, keyFile), /worker ready/);
  const failure = await starting.then(
    async (worker) => worker.stop('SIGKILL'),
    (error: unknown) => String(error),
  );
  expect(front.seen()).toContainEqual(expect.objectContaining({ key: 'wrong-key' }));
  await front.close();
  expect(failure).toContain('cannot connect to Temporal');
  expect(failure).not.toContain('wrong-key');
});
