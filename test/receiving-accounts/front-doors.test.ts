import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { accountsOf, openedFor, openingRequest, sendsSeen, untilOpening } from '../support/openings.ts';
import { PayoutWorld } from '../support/payout-world.ts';

let world: PayoutWorld;
let service: TestApiServer;
let at: string;
let folder: string;
const run = (...args: string[]) => cli(world.workerEnvironment, ['account', ...args]);

beforeAll(async () => {
  // A call that a busy machine does not finish in time would require a person.
  world = await PayoutWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '10s' } });
  service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('desk'),
      callerEntry('other', { applications: ['another'] }),
      callerEntry('shop', { verbs: ['start', 'read', 'account'] }),
    ]),
  });
  at = `${service.url}/v1/receiving-accounts`;
  folder = mkdtempSync(join(tmpdir(), 'payouts-accounts-'));
});

afterAll(async () => {
  await service.close();
  await world.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ended = (requestId: string) =>
  eventually(async () => {
    const answer = await get(`${at}/${requestId}`, as('shop'));
    return JSON.stringify(answer.body).includes('"result"') ? answer : undefined;
  });

function file(content: unknown): string {
  const path = join(folder, 'request.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe('over HTTP', () => {
  test('opens an account; balance and detail show it; the same request joins, another body gets 409', async () => {
    const request = openingRequest();
    const { requestId, payerId } = request;
    const started = await post(at, request, as('desk'));
    const workflowId = `receiving-account:default:${requestId}`;
    expect(started).toMatchObject({ status: 202, body: { workflowId, app: 'default', requestId } });
    const { body } = await ended(requestId);
    expect(body).toMatchObject({ state: { phase: 'DONE' }, result: { outcome: 'OPENED', payerId } });
    const [accountId = ''] = await openedFor(world, request);
    expect(await get(`${at}/balance/${payerId}/USD`, as('shop'))).toMatchObject({
      status: 200,
      body: { balance: { currency: 'USD', amount: '0.00' }, accountIds: [accountId] },
    });
    expect(await get(`${at}/detail/${accountId}`, as('shop'))).toMatchObject({
      status: 200,
      body: { id: accountId, payer_id: payerId },
    });
    expect(await post(at, request, as('desk'))).toMatchObject({ status: 202, body: started.body });
    expect((await post(at, { ...request, currency: 'EUR' }, as('desk'))).status).toBe(409);
    expect((await openedFor(world, request)).length).toBe(1);
  });

  test('names bad fields; returns 404 for unknown ids and 409 outside review', async () => {
    const bad = await post(at, { ...openingRequest(), currency: 'dollars', x: 1 }, as('desk'));
    expect(bad).toMatchObject({ status: 400, body: { errors: [{ path: 'currency' }, { path: 'x' }] } });
    expect((await get(`${at}/nobody`, as('shop'))).status).toBe(404);
    expect((await get(`${at}/detail/RA-nobody`, as('shop'))).status).toBe(404);
    const end = { created: false, then: 'end' };
    expect((await post(`${at}/nobody/resolve`, end, as('desk'))).status).toBe(404);
    const request = openingRequest();
    await post(at, request, as('desk'));
    await ended(request.requestId);
    expect((await post(`${at}/${request.requestId}/resolve`, end, as('desk'))).status).toBe(409);
  });

  test('H51 a key opens and reads accounts only with permission', async () => {
    const before = sendsSeen(world);
    expect((await post(at, openingRequest())).status).toBe(401);
    expect((await post(at, openingRequest(), as('shop'))).status).toBe(403);
    expect((await post(at, openingRequest(), as('other'))).status).toBe(403);
    for (const path of ['any', 'balance/any/USD', 'detail/any']) {
      expect((await get(`${at}/${path}`)).status).toBe(401);
      expect((await get(`${at}/${path}`, as('other'))).status).toBe(403);
    }
    expect((await post(`${at}/any/resolve`, '', as('shop'))).status).toBe(403);
    expect(sendsSeen(world)).toBe(before);
  });
});

describe('on the command line', () => {
  test('opens and shows an account; exits 2 for bad input, 4 for another body, 3 for an unknown request', async () => {
    const request = openingRequest();
    const opened = await run('open', file(request), '--wait', '--by', 'olga', '--json');
    expect(opened.code).toBe(0);
    const [accountId = ''] = await openedFor(world, request);
    expect(opened.json()).toMatchObject({ outcome: 'OPENED', accountId });
    const [again, other, bad, balance, detail, unknown] = await Promise.all([
      run('status', request.requestId),
      run('status', 'no-such-request'),
      cli(
        world.workerEnvironment,
        ['account', 'open', '-', '--json'],
        JSON.stringify({ ...request, currency: 1 }),
      ),
      run('balance', '--payer-id', request.payerId, '--currency', 'USD', '--json'),
      run('detail', accountId),
      run('detail', 'RA-nobody', '--json'),
    ]);
    expect(again.stdout).toContain(accountId);
    expect(other.code).toBe(3);
    expect(bad.code).toBe(2);
    expect(bad.json()).toMatchObject({ error: { fields: [{ path: 'currency' }] } });
    expect(balance.json()).toEqual({ balance: { currency: 'USD', amount: '0.00' }, accountIds: [accountId] });
    expect(detail.stdout).toContain(request.payerId);
    expect(unknown.code).toBe(3);
    expect((await run('open', file({ ...request, currency: 'EUR' }))).code).toBe(4);
    expect((await run('--client-id', 'client-1')).stdout).toContain('AVAIL_ACCOUNT');
  });

  test('after a lost answer, shows the candidate account, and resolve takes it', async () => {
    const request = openingRequest();
    const fault = { operation: 'receivingAccountCreate', times: 1, fault: { kind: 'drop-after' } } as const;
    world.simulator.control.addFault(fault);
    await run('open', file(request));
    const accountId = await eventually(async () => (await openedFor(world, request))[0]);
    const accounts = accountsOf(world);
    await untilOpening(accounts, request, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect((await run('status', request.requestId)).stdout).toContain(accountId);
    expect((await run('resolve', request.requestId, '--by', 'olga')).code).toBe(2);
    const taken = await run('resolve', request.requestId, '--by', 'olga', '--created', accountId, '--json');
    expect(taken.json()).toMatchObject({ phase: 'DONE', outcome: 'OPENED', accountId, learnedBy: 'person' });
  });
});
