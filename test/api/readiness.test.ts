import { once } from 'node:events';
import { connect } from 'node:net';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Drain } from '../../src/runtime/process.ts';
import { get, getOnce, startApiServer } from '../support/http.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
beforeAll(async () => {
  world = await VirtualWorld.start({ idle: true });
});
afterAll(() => world.stop());

const clientOf = (namespace: string) => new Client({ connection: world.client.connection, namespace });

test('/readyz checks the namespace, not only the server', async () => {
  const lost = await startApiServer(clientOf('no-such-namespace'));
  expect(await getOnce(`${lost.url}/readyz`)).toMatchObject({
    status: 503,
    body: { detail: 'Temporal does not respond, or the namespace cannot be used' },
  });
  expect((await get(`${lost.url}/healthz`)).status).toBe(200);
  await lost.close();
});

test('a flood of readiness checks costs Temporal at most one call per second', async () => {
  const client = clientOf(world.client.options.namespace);
  let calls = 0;
  const { describeNamespace } = client.workflowService;
  const counted = Object.assign(Object.create(client.workflowService), {
    describeNamespace: (request: object) => {
      calls += 1;
      return describeNamespace.call(client.workflowService, request);
    },
  });
  Object.defineProperty(client, 'workflowService', { value: counted });
  const service = await startApiServer(client);
  const beganMs = performance.now();
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(Array.from({ length: 100 }, () => get(`${service.url}/readyz`)));
    for (const { status } of answers) expect(status).toBe(200);
  }
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThanOrEqual(1 + (performance.now() - beganMs) / 1_000);
  await service.close();
});

test('a server that drains is not ready, serves requests, and closes their connections', async () => {
  const drain = new Drain();
  const service = await startApiServer(world.client, {}, { drain });
  expect((await get(`${service.url}/readyz`)).status).toBe(200);
  drain.begin();
  expect(await getOnce(`${service.url}/readyz`)).toMatchObject({
    status: 503,
    body: { detail: 'this API server is about to end' },
  });
  const served = await get(`${service.url}/v1/payouts/unknown`);
  expect(served).toMatchObject({ status: 404, headers: { connection: 'close' } });
  await service.close();
});

test('a connection without a request does not delay the end', { timeout: 30_000 }, async () => {
  const service = await startApiServer(clientOf(world.client.options.namespace));
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
  await once(socket, 'connect');
  // The server has accepted the connections that came before this one.
  await get(`${service.url}/healthz`);
  const closed = once(socket, 'close');
  await service.close();
  await closed;
});
