/** The client library as another project uses it: packed, installed, compiled there, and run by plain Node. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConfigError, connectPayouts, type PayoutsConnection } from '../../src/client/index.ts';
import { runExample } from '../support/examples.ts';
import { newKey } from '../support/keys.ts';
import { eventually, NO_POLLS, newPartnerOrderId, PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { type Consumer, installClient } from './installed.ts';

const KEYS = newKey('k1');
let world: PayoutWorld;
let consumer: Consumer;
beforeAll(async () => {
  consumer = await installClient();
  world = await PayoutWorld.start({ env: { ...NO_POLLS, PAYOUTS_ENCRYPTION_KEYS: KEYS } });
});
afterAll(async () => {
  consumer.remove();
  await world.stop();
});

const newRequest = () => payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s' });

test('the package contains no code of workers, workflows or the provider client, and needs none of their dependencies', () => {
  const code = consumer.files.filter((file) => file.endsWith('.js'));
  const folders = new Set(code.map((file) => file.split('/')[2]));
  expect([...folders].sort()).toEqual([
    'client',
    'config',
    'contract',
    'domain',
    'encryption',
    'surroundings',
    'temporal',
  ]);
  expect(code.filter((file) => /service|cli\/|worker|token/.test(file))).toEqual([]);
  expect(Object.keys(consumer.dependencies)).toEqual([
    '@temporalio/client',
    '@temporalio/common',
    '@temporalio/envconfig',
    '@temporalio/proto',
    '@temporalio/workflow',
    'nexus-rpc',
    'zod',
  ]);
});

test('another project compiles the example against its types and pays with it in plain Node', async () => {
  const program = await consumer.compiled();
  const request = newRequest();
  const paid = await runExample(program, world.workerEnvironment, request);
  expect({ code: paid.code, stderr: paid.stderr }).toEqual({ code: 0, stderr: '' });
  expect(paid.result()).toMatchObject({ outcome: 'SUCCESS', learnedBy: 'notification' });

  const again = await runExample(program, world.workerEnvironment, request);
  expect(again.state).toBe('DONE: Paid 100.00 CNY.');
  expect(again.result()).toEqual(paid.result());

  const bad = await runExample(program, world.workerEnvironment, { ...newRequest(), clientId: '' });
  expect({ code: bad.code, stderr: bad.stderr }).toEqual({ code: 1, stderr: 'clientId must not be empty\n' });
});

test('options override the environment, and one connection serves payouts, batches, accounts, reads and lists', async () => {
  const connected = await connect();
  try {
    const { payouts, batches, receivingAccounts, reads, list } = connected;
    const [row, one] = [newRequest(), await payouts.start({ ...newRequest(), approval: 'required' })];
    await eventually(async () => (await payouts.state(one)).phase === 'AWAITING_APPROVAL' || undefined);
    expect(await payouts.cancel(one, { by: 'test' })).toMatchObject({ outcome: 'NOT_CREATED' });
    expect(await batches.start({ batchId: 'b1', payouts: [row] })).toMatchObject({ count: 1 });
    expect((await reads.accounts('default', 'client-1'))?.accounts.length).toBeGreaterThan(0);
    const opening = { requestId: newPartnerOrderId(), payerId: 'payer-1', currency: 'USD' };
    await receivingAccounts.open(opening);
    expect(await receivingAccounts.result(opening)).toMatchObject({ outcome: 'OPENED' });
    const found = await eventually(async () => {
      for await (const listed of list({ outcome: 'NOT_CREATED' })) return listed;
      return undefined;
    });
    expect(found).toMatchObject({ partnerOrderId: one.partnerOrderId, phase: 'DONE' });
  } finally {
    await connected.close();
  }
});

test('rejects an invalid filter by name, and a client without keys', async () => {
  const connected = await connect();
  const quoted = connected.list({ app: "default' OR 'a' = 'a" }).next();
  await expect(quoted).rejects.toMatchObject({ fields: [{ path: 'app' }] });
  await connected.close();
  await expect(connectPayouts({ connection: { address: world.address } })).rejects.toThrow(ConfigError);
});

function connect(): Promise<PayoutsConnection> {
  const { address, namespace } = world;
  return connectPayouts({
    connection: { address },
    namespace,
    encryptionKeys: KEYS,
    environment: 'test',
  });
}
