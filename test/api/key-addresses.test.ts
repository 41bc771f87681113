/** Keys that are accepted from some addresses only. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { standInClient } from '../../fuzz/temporal.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { get, startApiServer, type TestApiServer } from '../support/http.ts';

let behindProxy: TestApiServer;
let direct: TestApiServer;

beforeAll(async () => {
  const client = standInClient({ ends: {}, states: [], queries: {}, argumentOf: () => null });
  const PAYOUTS_API_KEYS_FILE = keysFile([
    callerEntry('office', { addresses: ['203.0.113.7', '10.1.0.0/16', '2001:db8::/32'] }),
    callerEntry('here', { addresses: ['127.0.0.1'] }),
    callerEntry('any'),
  ]);
  behindProxy = await startApiServer(client, { PAYOUTS_API_KEYS_FILE, PAYOUTS_API_PROXIES: '127.0.0.1' });
  direct = await startApiServer(client, { PAYOUTS_API_KEYS_FILE });
});

afterAll(async () => {
  await behindProxy.close();
  await direct.close();
});

const read = ({ url }: TestApiServer, name: string, from?: string) =>
  get(`${url}/v1/payouts/none`, { ...as(name), ...(from && { 'x-forwarded-for': from }) });

describe('H276 a key with addresses', () => {
  test.each(['203.0.113.7', '10.1.255.9', '::ffff:10.1.0.1', '2001:db8:1::9', '10.9.9.9, 10.1.2.3'])(
    'is accepted from %s',
    async (from) => {
      expect((await read(behindProxy, 'office', from)).status).not.toBe(401);
    },
  );

  test.each(['203.0.113.8', '10.2.0.1', '2001:db9::1', '10.1.2.3, 10.9.9.9', 'nonsense'])(
    'gets the response of an unknown key from %s',
    async (from) => {
      const { status, body, headers } = await read(behindProxy, 'office', from);
      const unknown = await read(behindProxy, 'nobody', from);
      expect({ status, body: { ...Object(body), instance: '', requestId: '' } }).toEqual({
        status: unknown.status,
        body: { ...Object(unknown.body), instance: '', requestId: '' },
      });
      expect(body).toMatchObject({ type: '/problems/key-unknown' });
      expect(headers['www-authenticate']).toBe(unknown.headers['www-authenticate']);
      expect((await read(behindProxy, 'any', from)).status).not.toBe(401);
    },
  );

  test('believes no header of a client that is not a proxy', async () => {
    expect((await read(direct, 'office', '203.0.113.7')).status).toBe(401);
    expect((await read(direct, 'here', '203.0.113.7')).status).not.toBe(401);
  });
});
