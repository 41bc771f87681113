/** The types of problems (RFC 9457), their pages, and the codes in the OpenAPI document. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { standInClient } from '../../fuzz/temporal.ts';
import {
  codesOf,
  PAYOUT_ATTENTION,
  RECEIVING_ACCOUNT_ATTENTION,
} from '../../src/contract/attention-codes.ts';
import { REASON_CODES, RECEIVING_ACCOUNT_REASON_CODES } from '../../src/contract/codes.ts';
import { PROBLEM_KINDS, PROBLEMS } from '../../src/contract/problems.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';

let service: TestApiServer;

beforeAll(async () => {
  const client = standInClient({ ends: {}, states: [], queries: {}, argumentOf: () => null });
  service = await startApiServer(client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('shop'),
      callerEntry('reader', { verbs: ['read'] }),
      callerEntry('other', { applications: ['another'] }),
      callerEntry('dollars', { largestAmount: { USD: '1.00' } }),
      callerEntry('small', { largestAmount: { CNY: '1.00' } }),
    ]),
  });
});

afterAll(() => service.close());

describe('type of a problem', () => {
  test.each([
    ['key-missing', payoutRequest('a'), {}],
    ['key-unknown', payoutRequest('a'), as('stranger')],
    ['verb-not-allowed', payoutRequest('a'), as('reader')],
    ['application-not-allowed', payoutRequest('a'), as('other')],
    ['amount-too-large', payoutRequest('a'), as('dollars')],
    ['amount-too-large', payoutRequest('a'), as('small')],
    ['invalid-request', {}, as('shop')],
    ['malformed-request', '{', as('shop')],
    ['content-too-large', `"${'x'.repeat(64 * 1024)}"`, as('shop')],
    ['unsupported-media-type', '{}', { ...as('shop'), 'content-type': 'text/plain' }],
  ] as const)('%s names its own page', async (kind, body, headers) => {
    const { status, title } = PROBLEMS[kind];
    const answer = await post(`${service.url}/v1/payouts`, body, headers);
    expect(answer).toMatchObject({ status, body: { type: `/problems/${kind}`, title, status } });
    expect((await get(new URL(`/problems/${kind}`, service.url).href)).status).toBe(200);
  });

  test.each([
    ['route-not-found', '/v1/nothing'],
    ['not-found', '/problems/nothing'],
    ['malformed-request', '/v1/payouts/%'],
    ['uri-too-long', `/v1/payouts/${'x'.repeat(1_100)}`],
  ] as const)('%s is the type of a rejected URL', async (kind, path) => {
    expect(await get(service.url + path, as('shop'))).toMatchObject({
      status: PROBLEMS[kind].status,
      body: { type: `/problems/${kind}` },
    });
  });

  test.each(PROBLEM_KINDS)(
    'the page of %s says what it means and what to do, without scripts',
    async (kind) => {
      const { status, headers, body } = await get(`${service.url}/problems/${kind}`);
      expect(status).toBe(200);
      expect(headers['content-type']).toMatch('text/html');
      expect(headers['content-security-policy']).toMatch("default-src 'none'");
      const { title, meaning, action } = PROBLEMS[kind];
      const page = String(body)
        .replaceAll(/<\/?code>/g, '`')
        .replaceAll('&#39;', "'");
      for (const text of [title, `${PROBLEMS[kind].status}`, meaning, action]) expect(page).toContain(text);
    },
  );

  test('/problems links to every page', async () => {
    const { body } = await get(`${service.url}/problems`);
    for (const kind of PROBLEM_KINDS) expect(body).toContain(`href="/problems/${kind}"`);
  });
});

describe('the OpenAPI document', () => {
  test.each([
    ['ReasonCode', REASON_CODES],
    ['ReceivingAccountReasonCode', RECEIVING_ACCOUNT_REASON_CODES],
    ['PayoutAttentionCode', codesOf(PAYOUT_ATTENTION)],
    ['ReceivingAccountAttentionCode', codesOf(RECEIVING_ACCOUNT_ATTENTION)],
  ])('lists every %s', async (name, codes) => {
    const { body } = await get(`${service.url}/openapi.json`);
    expect(body).toMatchObject({ components: { schemas: { [name]: { examples: codes } } } });
  });

  test('lists the types of each status of each route', async () => {
    const { body } = await get(`${service.url}/openapi.json`);
    const conflict = {
      content: {
        'application/problem+json': {
          schema: {
            allOf: [
              { $ref: '#/components/schemas/Problem' },
              {
                properties: {
                  type: {
                    enum: expect.arrayContaining(['/problems/id-conflict', '/problems/start-rejected']),
                  },
                },
              },
            ],
          },
        },
      },
    };
    expect(body).toMatchObject({ paths: { '/v1/payouts': { post: { responses: { 409: conflict } } } } });
  });
});
