/** Risks of the OWASP API Security Top Ten that no other test shows: docs/security.md names each. */
import { createServer, type Server } from 'node:http';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VERBS } from '../../src/config/callers.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, type HttpResponse, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { operationsOf } from '../support/operations.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;

beforeAll(async () => {
  world = await VirtualWorld.start();
  service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('all'),
      ...VERBS.map((verb) => callerEntry(`only-${verb}`, { verbs: [verb] })),
      ...VERBS.map((verb) => callerEntry(`not-${verb}`, { verbs: VERBS.filter((one) => one !== verb) })),
    ]),
  });
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const operations = () => operationsOf(world.client);
const urlOf = (path: string) => `${service.url}${path.replaceAll(/\{\w+\}/g, 'USD')}`;
const send = (
  method: 'GET' | 'POST',
  path: string,
  headers: Record<string, string>,
): Promise<HttpResponse> =>
  method === 'GET' ? get(urlOf(path), headers) : post(urlOf(path), '{"no":"field"}', headers);
const ended = (partnerOrderId: string) =>
  eventually(async () => {
    const { body } = await get(`${service.url}/v1/payouts/${partnerOrderId}?wait=30s`, as('all'));
    const text = JSON.stringify(body);
    return text.includes('"result"') ? text : undefined;
  });

describe('functions', () => {
  test('every operation requires a key with its own verb, and no other verb opens it', async () => {
    for (const { method, path, verb } of await operations()) {
      const at = `${method} ${path}`;
      expect((await send(method, path, {})).status, at).toBe(401);
      const other = await send(method, path, as(`not-${verb}`));
      expect(other, at).toMatchObject({ status: 403, body: { type: '/problems/verb-not-allowed' } });
      expect([401, 403], at).not.toContain((await send(method, path, as(`only-${verb}`))).status);
    }
  });

  test('no other method is served on the path of an operation', async () => {
    const served = new Set((await operations()).map(({ method, path }) => `${method} ${path}`));
    for (const path of new Set((await operations()).map((one) => one.path)))
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const) {
        if (served.has(`${method} ${path}`)) continue;
        const { statusCode, body } = await request(urlOf(path), { method, headers: as('all') });
        await body.dump();
        expect(statusCode, `${method} ${path}`).toBe(404);
      }
  });
});

describe('properties', () => {
  test.each([
    'startedBy',
    'approvedBy',
    'decidedBy',
    'environment',
    'phase',
    'outcome',
    'orderId',
    'quote',
    'workflowId',
    'callTimeoutMs',
    '__proto__',
  ])('a start cannot set %s, and starts nothing', async (field) => {
    const wanted = payoutRequest(newPartnerOrderId());
    const body = JSON.stringify(wanted).replace('{', `{${JSON.stringify(field)}:"all",`);
    const answer = await post(`${service.url}/v1/payouts`, body, as('only-start'));
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: [{ path: field, message: 'is not a field' }] },
    });
    expect((await get(`${service.url}/v1/payouts/${wanted.partnerOrderId}`, as('all'))).status).toBe(404);
  });

  test('state and result show no beneficiary, and a list no number of account or identity', async () => {
    const wanted = payoutRequest(newPartnerOrderId(), { platform: 'sim:success' });
    await post(`${service.url}/v1/payouts`, wanted, as('all'));
    const { body } = await get(`${service.url}/v1/payouts`, as('all'));
    const text = await ended(wanted.partnerOrderId);
    const { bankAccountNumber, bankAccountName, idCardNumber, bankName } = wanted.receiver;
    for (const personal of [bankAccountName, bankName]) expect(text).not.toContain(personal);
    for (const number of [bankAccountNumber, idCardNumber])
      expect(text + JSON.stringify(body)).not.toContain(number);
  });
});

describe('addresses in requests', () => {
  let trap: Server;
  let connections = 0;
  let address: string;
  beforeAll(async () => {
    trap = createServer().on('connection', (socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => {
      trap.listen(0, '127.0.0.1', resolve);
    });
    const bound = trap.address();
    if (bound === null || typeof bound === 'string') throw new Error('no port');
    address = `http://127.0.0.1:${bound.port}/`;
  });
  afterAll(() => new Promise((resolve) => trap.close(resolve)));

  test('are text: neither the API server nor a worker connects to them', async () => {
    const wanted = payoutRequest(newPartnerOrderId(), { platform: 'sim:success', clientId: address });
    const body = { ...wanted, receiver: { ...wanted.receiver, bankName: address } };
    expect((await post(`${service.url}/v1/payouts`, body, as('all'))).status).toBe(202);
    const hint = { partner_order_id: wanted.partnerOrderId, orderId: address, callback: address };
    await post(`${service.url}/v1/notifications/default`, hint, { host: new URL(address).host });
    await get(`${service.url}/v1/accounts?clientId=${encodeURIComponent(address)}`, as('all'));
    await get(`${service.url}/v1/oauth/default/authorize?link=${encodeURIComponent(address)}`);
    await ended(wanted.partnerOrderId);
    expect(connections).toBe(0);
    await get(address).catch(() => undefined);
    expect(connections, 'the trap works').toBeGreaterThan(0);
  });
});

describe('responses', () => {
  test('allow no other origin, name no software, and are not stored', async () => {
    const from = { origin: 'https://evil.example', ...as('all') };
    const known = await get(`${service.url}/v1/payouts`, from);
    expect(known).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    const others = [
      await get(`${service.url}/v1/payouts/none`, from),
      await post(`${service.url}/v1/payouts`, '{', from),
      await get(`${service.url}/openapi.json`, from),
      await get(`${service.url}/v1/nothing`, from),
    ];
    for (const { headers, body } of [known, ...others]) {
      const names = Object.keys(headers).join(' ');
      expect(names).not.toMatch(/access-control|server|powered/);
      expect(JSON.stringify(body)).not.toMatch(/fastify|node_modules|\.ts:|at \w+ \(/i);
    }
  });
});
