/** SIGTERM drains the codec server, with the code that it shares with the API server. Time is never the judge. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { eventually } from '../support/eventually.ts';
import { get } from '../support/http.ts';
import { newKey, newSecret } from '../support/keys.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

const KEY = newSecret();
let server: OwnProcess;
let url: string;

afterEach(() => server.stop('SIGKILL'));

async function start(drain: string): Promise<void> {
  const [port = 0] = await freePorts(1);
  const environment = {
    PAYMENTS_ENVIRONMENT: 'production',
    PAYOUTS_ENCRYPTION_KEYS: newKey('k1'),
    PAYOUTS_CODEC_KEYS: `olga:${KEY}`,
    PAYOUTS_CODEC_LISTEN: `127.0.0.1:${port}`,
    PAYOUTS_DRAIN: drain,
  };
  server = await startProgram('src/codec-server/main.ts', environment, /codec server listening on/);
  url = `http://127.0.0.1:${port}`;
}

const BODY = '{"payloads":[]}';

/** A request whose body lacks the last byte. */
async function requestInFlight(): Promise<{ finish(): void; answer: Promise<string> }> {
  const socket: Socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
  const answer = new Promise<string>((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
  const head = [
    'POST /decode HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${KEY}`,
    'Content-Type: application/json',
    `Content-Length: ${BODY.length}`,
    'Expect: 100-continue',
  ];
  const continued = new Promise<void>((resolve) => socket.once('data', () => resolve()));
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  // The server has the request once it wants the body.
  await continued;
  socket.write(BODY.slice(0, -1));
  return { finish: () => socket.write(BODY.slice(-1)), answer };
}

const exitOf = (signal: NodeJS.Signals) => server.stop(signal);

test('SIGTERM: readiness falls first, other requests are served; a second SIGTERM ends the process at once', async () => {
  await start('1h');
  expect((await get(`${url}/readyz`)).status).toBe(200);
  const inFlight = await requestInFlight();
  server.child.kill('SIGTERM');
  await eventually(async () => (await get(`${url}/readyz`)).status === 503 || undefined);
  expect(await get(`${url}/healthz`)).toMatchObject({ status: 200, headers: { connection: 'close' } });
  inFlight.finish();
  expect(await inFlight.answer).toMatch(/HTTP\/1\.1 200 OK[\s\S]*\{"payloads":\[\]\}$/);
  expect(await exitOf('SIGTERM')).toBe(1);
});

test('a request in flight finishes after the server has stopped listening; then the process ends', async () => {
  await start('1h');
  const inFlight = await requestInFlight();
  const exited = once(server.child, 'exit');
  server.child.kill('SIGINT');
  await eventually(() =>
    get(`${url}/healthz`).then(
      () => undefined,
      () => true,
    ),
  );
  inFlight.finish();
  expect(await inFlight.answer).toMatch(/HTTP\/1\.1 200 OK[\s\S]*connection: close/i);
  expect(await exited).toEqual([0, null]);
});

test('the deadline ends the process, although a request is in flight', async () => {
  await start('400ms');
  const inFlight = await requestInFlight();
  expect(await exitOf('SIGTERM')).toBe(1);
  expect(server.output()).toContain('PAYOUTS_DRAIN');
  expect(await inFlight.answer.catch(() => '')).not.toContain('200 OK');
});

test('without requests, SIGTERM ends the process with exit code 0', async () => {
  await start('2s');
  expect(await exitOf('SIGTERM')).toBe(0);
});
