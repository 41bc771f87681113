import { describe, expect, test } from 'vitest';
import { PaymentsClient } from '../../src/payments/client.ts';
import { PaymentsSettingError } from '../../src/payments/errors.ts';
import { clientFor, failureOf } from './support/client.ts';
import { answers, startServer } from './support/server.ts';

describe('H48 addresses and path parts of calls', () => {
  test.each([
    ['http://gw.example', undefined],
    ['https://user:pw@gw.example', undefined],
    ['https://gw.example/?a=b', undefined],
    ['https://gw.example/#f', undefined],
    ['ftp://gw.example', undefined],
    ['gw.example', undefined],
    ['https://10.0.0.1', undefined],
    ['https://169.254.169.254', undefined],
    ['https://[fd00::1]', undefined],
    ['https://[::ffff:10.0.0.1]', undefined],
    ['https://0x0a000001', undefined],
    ['https://other.example', ['gw.example']],
    ['https://gw.example@other.example', ['gw.example']],
    ['https://gw.example:444', ['gw.example:443']],
  ])('H48 rejects the gateway %s with the allow-list %s', (baseUrl, allowedHosts) => {
    const make = () =>
      clientFor(baseUrl, { authUrl: 'https://gw.example', ...(allowedHosts && { allowedHosts }) });
    expect(make).toThrow(PaymentsSettingError);
    expect(make).not.toThrow(/user|pw@/);
  });

  test('H48 accepts an allow-listed private address, and unencrypted loopback', () => {
    const listed = { authUrl: 'https://10.0.0.1', allowedHosts: ['10.0.0.1'] };
    expect(clientFor('https://10.0.0.1', listed)).toBeInstanceOf(PaymentsClient);
    expect(clientFor('http://localhost:1')).toBeInstanceOf(PaymentsClient);
    expect(clientFor('http://[::1]:1')).toBeInstanceOf(PaymentsClient);
  });

  test.each([301, 302, 303, 307, 308])('H48 does not follow a redirect with %s', async (status) => {
    const elsewhere = await startServer(answers(200, '{}'));
    const server = await startServer(answers(status, '', { location: `${elsewhere.origin}/v2/httpbin/get` }));
    const client = clientFor(server.origin);
    await failureOf(client.ping());
    await failureOf(client.exchangeCode('code-1'));
    expect([server.seen.length, elsewhere.seen.length]).toEqual([2, 0]);
  });

  test.each(['', '.', '..', '../x', 'a/b', 'a\\b', 'a\u0000', 'a\r\nb', '\ud800', 'x'.repeat(129)])(
    'H48 rejects the path part %j',
    async (part) => {
      const server = await startServer(answers(200, '{}'));
      const client = clientFor(server.origin);
      for (const call of [client.payoutOrder(part), client.receivingAccountDetail(part)])
        expect((await failureOf(call)).code).toBe('INVALID_REQUEST');
      expect((await failureOf(client.receivingAccountBalance(part, 'USD'))).code).toBe('INVALID_REQUEST');
      expect(server.seen).toHaveLength(0);
    },
  );

  test.each(['%2e%2e', '@host', 'a?b=c', 'a#b', 'a b', '..;', 'http:x', '订单', '%00'])(
    'H48 keeps the path part %j a single part',
    async (part) => {
      const server = await startServer(answers(404, ''));
      await failureOf(clientFor(`${server.origin}/gate/`).payoutOrder(part));
      const [path = '', query] = (server.seen[0]?.url ?? '').split('?');
      expect(query).toBeUndefined();
      expect(path.split('/').slice(0, -1).join('/')).toBe('/gate/v2/b2b/currents/queryDetail');
      expect(decodeURIComponent(path.split('/').at(-1) ?? '')).toBe(part);
    },
  );
});
