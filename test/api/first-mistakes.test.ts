/** The likeliest mistakes of a first hour over HTTP: each response says what is wrong and what to do next. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { getOnce, postOnce, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
let at: string;

beforeAll(async () => {
  world = await VirtualWorld.start({ idle: true });
  const PAYOUTS_API_KEYS_FILE = keysFile([callerEntry('shop'), callerEntry('reader', { verbs: ['read'] })]);
  service = await startApiServer(world.client, { PAYOUTS_API_KEYS_FILE });
  at = `${service.url}/v1/payouts`;
});
afterAll(async () => {
  await service.close();
  await world.stop();
});

const body = (over: object = {}) => ({ ...payoutRequest(newPartnerOrderId()), ...over });
const without = (name: string) => Object.fromEntries(Object.entries(body()).filter(([key]) => key !== name));
const key = (text: string) => ({ authorization: `Bearer ${text}` });

test.each<[mistake: string, body: unknown, headers: Record<string, string>, status: number, detail: RegExp]>([
  ['no key', body(), {}, 401, /send the header authorization: Bearer KEY/],
  ['a wrong key', body(), key('wrong'), 401, /the key is unknown: check that it is complete/],
  ['no permission', body(), as('reader'), 403, /lacks the permission start: use another key/],
  [
    'another application',
    body({ app: 'other' }),
    as('shop'),
    403,
    /application: use another key, or correct app/,
  ],
  ['a missing field', without('clientId'), as('shop'), 400, /^clientId is required$/],
  ['a wrong type', body({ payerId: 7 }), as('shop'), 400, /^payerId must be text in quotes$/],
  [
    'an amount as a number',
    body({ instructedAmount: { currency: 'CNY', amount: 100 } }),
    as('shop'),
    400,
    /^instructedAmount.amount must be decimal text such as "10.50", not a number$/,
  ],
  ['an empty body', '', as('shop'), 400, /^the body is empty: send a JSON object$/],
  ['null', 'null', as('shop'), 400, /^the body is null: send a JSON object$/],
  ['four bad fields', {}, as('shop'), 400, / is required; .+; \d+ more are in errors$/],
  [
    'another content type',
    'a=b',
    { ...as('shop'), 'content-type': 'text/plain' },
    415,
    /Send `Content-Type: application\/json`/,
  ],
])('%s', async (_mistake, sent, headers, status, detail) => {
  const answer = await postOnce(at, typeof sent === 'string' ? sent : Object(sent), headers);
  expect(answer).toMatchObject({ status, body: { detail: expect.stringMatching(detail) } });
});

test('a wrong route leads to the list of routes', async () => {
  const answer = await getOnce(`${service.url}/payouts`);
  expect(answer).toMatchObject({ status: 404, body: { detail: expect.stringContaining('/docs') } });
});

test('a used id says what to do', async () => {
  const first = body();
  expect((await postOnce(at, first, as('shop'))).status).toBe(202);
  const other = { ...first, remittancePurposeCode: 'SERVICE_TRADE' };
  expect(await postOnce(at, other, as('shop'))).toMatchObject({
    status: 409,
    body: { detail: expect.stringMatching(/send that body again, or use a new partnerOrderId/) },
  });
});

test('an Idempotency-Key is accepted if it equals partnerOrderId; any other one names both', async () => {
  const request = body();
  const sent = (idempotency: string) =>
    postOnce(at, request, { ...as('shop'), 'idempotency-key': idempotency });
  const refused = await sent('another');
  expect(refused).toMatchObject({
    status: 400,
    body: {
      errors: [{ path: 'Idempotency-Key', message: expect.stringContaining('must equal partnerOrderId') }],
    },
  });
  expect((await getOnce(`${at}/${request.partnerOrderId}`, as('shop'))).status).toBe(404);
  for (const _turn of [1, 2]) expect((await sent(request.partnerOrderId)).status).toBe(202);
  const { body: document } = await getOnce(`${service.url}/openapi.json`);
  expect(Object(document).paths['/v1/payouts'].post.parameters).toMatchObject([
    { name: 'Idempotency-Key', in: 'header' },
  ]);
});
