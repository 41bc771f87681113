import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { HttpEventTransport, isAllowedAddress } from '../../src/webhooks/event-transport.ts';

const LINK_LOCAL = ['169.254.169.254', 'fe80::1', '::ffff:169.254.169.254'];
/** Where clouds serve credentials, outside the link-local range. */
const CREDENTIALS = [
  '100.100.100.200',
  '168.63.129.16',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd00:c1::a9fe:a9fe',
  'fd00:42::42',
  'FD20:CE:0::254',
];
/** No address of the internet: an IPv4 address in an outdated form, and ranges that nobody was given. */
const NOT_PUBLIC = ['::7f00:1', '::a00:1', '1::1', '4000::1', 'fec0::1'];
const NEVER = [
  ...LINK_LOCAL,
  ...CREDENTIALS,
  ...NOT_PUBLIC,
  '0.0.0.0',
  '::',
  '224.0.0.1',
  'ff02::1',
  '255.255.255.255',
  '240.0.0.1',
  'text',
];
const TUNNELS = ['2002:7f00:1::', '64:ff9b::7f00:1', '2001:0:7f00:1::', '192.0.2.1', '2001:db8::1'];
const PRIVATE = ['127.0.0.1', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '::1', 'fd00::1'];
const MAPPED = ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:c0a8:101'];

describe('H165 a URL of an endpoint leads into the network of the workers', () => {
  test.each([...NEVER, ...TUNNELS])('%s is never allowed', (address) => {
    expect(isAllowedAddress(address, false)).toBe(false);
    expect(isAllowedAddress(address, true)).toBe(false);
  });

  test.each([...PRIVATE, ...MAPPED])('%s is allowed only by the file', (address) => {
    expect(isAllowedAddress(address, false)).toBe(false);
    expect(isAllowedAddress(address, true)).toBe(true);
  });

  test.each(['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c', '::ffff:93.184.215.14'])(
    '%s is allowed',
    (address) => expect(isAllowedAddress(address, false)).toBe(true),
  );
});

describe('the connection', () => {
  let server: Server;
  let port: number;
  const paths: string[] = [];
  let location: string | undefined;
  beforeAll(async () => {
    server = createServer((request, response) => {
      paths.push(request.url ?? '');
      response.writeHead(location ? 307 : 200, location ? { location } : {});
      // More than a receiver has a reason to answer.
      response.end('x'.repeat(5_000_000));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    port = typeof address === 'object' && address ? address.port : 0;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  const post = (transport: HttpEventTransport, host: string, allowPrivateAddress = false) =>
    transport.post({
      ...{ url: `http://${host}:${port}/events?x=1`, headers: {}, body: '{}', allowPrivateAddress },
      signal: new AbortController().signal,
    });

  test.each(['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', 'localhost'])(
    'H165 is not made to %s',
    async (host) => {
      expect(await post(new HttpEventTransport(), host)).toEqual({ code: 'ADDRESS_REFUSED' });
      expect(paths).toEqual([]);
    },
  );

  test('H165 is made to the address that was checked, whatever the name resolves to later', async () => {
    const answers = [
      [{ address: '127.0.0.1', family: 4 }],
      [
        { address: '93.184.215.14', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ],
    ];
    let asked = 0;
    const transport = new HttpEventTransport((_name, answer) => answer(null, answers[asked++] ?? []));
    for (const _answer of answers)
      expect(await post(transport, 'shop.example')).toEqual({ code: 'ADDRESS_REFUSED' });
    expect({ asked, paths }).toEqual({ asked: 2, paths: [] });
  });

  test('is made to a private address if the file allows it', async () => {
    const transport = new HttpEventTransport((_name, answer) =>
      answer(null, [{ address: '127.0.0.1', family: 4 }]),
    );
    expect(await post(transport, 'shop.internal', true)).toEqual({ status: 200 });
    expect(paths.splice(0)).toEqual(['/events?x=1']);
  });

  test('H172 follows no redirect, uses no proxy, and does not read the answer', async () => {
    location = `http://127.0.0.1:${port}/elsewhere`;
    vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:9');
    try {
      expect(await post(new HttpEventTransport(), '127.0.0.1', true)).toEqual({ status: 307 });
      expect(paths.splice(0)).toEqual(['/events?x=1']);
    } finally {
      vi.unstubAllEnvs();
      location = undefined;
    }
  });

  test('reports a refused connection by its code', async () => {
    const url = 'http://127.0.0.1:9/';
    const { signal } = new AbortController();
    const request = { url, headers: {}, body: '', allowPrivateAddress: true, signal };
    expect(await new HttpEventTransport().post(request)).toEqual({ code: 'ECONNREFUSED' });
  });
});
