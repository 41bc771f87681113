/** Keys that change while the API server runs. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { standInClient } from '../../fuzz/temporal.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, type HttpResponse, startApiServer, type TestApiServer } from '../support/http.ts';

let file: string;
let server: TestApiServer;
let at: string;
let log = '';
const write = process.stderr.write;

beforeAll(async () => {
  process.stderr.write = (chunk: string | Uint8Array) => {
    log += String(chunk);
    return true;
  };
  file = keysFile([callerEntry('first')]);
  const client = standInClient({ ends: {}, states: [], queries: {}, argumentOf: () => null });
  server = await startApiServer(client, { PAYOUTS_API_KEYS_FILE: file, PAYOUTS_LOG_LEVEL: 'info' });
  at = `${server.url}/v1/payouts/unknown`;
});

afterAll(async () => {
  await server.close();
  process.stderr.write = write;
});

const until = (headers: { authorization: string }, status: number): Promise<HttpResponse> =>
  eventually(async () => {
    const answer = await get(at, headers);
    return answer.status === status ? answer : undefined;
  });
const errors = () => log.split('the earlier keys stay valid').length - 1;

test('a removed key stops working and a new one works, without a restart', async () => {
  expect((await get(at, as('first'))).status).toBe(404);
  writeFileSync(file, JSON.stringify([callerEntry('second')]));
  expect(await until(as('first'), 401)).toMatchObject({ body: { type: '/problems/key-unknown' } });
  expect((await get(at, as('second'))).status).toBe(404);
  const next = keysFile([callerEntry('third')]);
  renameSync(next, file);
  await until(as('third'), 404);
  expect((await get(at, as('second'))).status).toBe(401);
});

test('an unusable file is reported once and keeps the keys', async () => {
  const unusable = ['[{', '[]', JSON.stringify([callerEntry('x', { verbs: ['pay'] })])];
  for (const [count, content] of [...unusable, undefined].entries()) {
    if (content === undefined) rmSync(file);
    else writeFileSync(file, content);
    await eventually(async () => errors() > count || undefined);
    expect((await get(at, as('third'))).status).toBe(404);
  }
  expect(log).toContain('0.verbs.0');
  writeFileSync(file, JSON.stringify([callerEntry('fourth')]));
  await until(as('fourth'), 404);
  expect(errors()).toBe(4);
});
