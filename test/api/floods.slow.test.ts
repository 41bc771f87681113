/** One address without a key, and one caller with many files, against an API server in a process of its own. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pidOf, rssMiB } from '../../bench/process-use.ts';
import { openMany, STALLED } from '../../bench/stalled.ts';
import { freePorts, loopback } from '../../scripts/dev-server/ports.ts';
import { composeFile } from '../compose/compose-file.ts';
import { manyRows } from '../support/batches.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { postOnce } from '../support/http.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { payoutRequest } from '../support/requests.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const MIB = 1024 * 1024;
const FLOOD = 5_000;
const FILES = 4;
const PER_NETWORK = 500;
let world: VirtualWorld;
let server: OwnProcess;
let port: number;
let monitoring: number;

beforeAll(async () => {
  world = await VirtualWorld.start({ idle: true });
  [port = 0, monitoring = 0] = await freePorts(2);
  const environment = {
    ...world.workerEnvironment,
    PAYOUTS_API_LISTEN: loopback(port),
    PAYOUTS_HEALTH_LISTEN: loopback(monitoring),
    // As Node chooses it in a container of 512 MiB, and as `docker-compose.yml` sets it.
    NODE_OPTIONS: `--max-old-space-size=256 ${composeFile().services['api']?.environment['NODE_OPTIONS']}`,
    PAYOUTS_API_KEYS_FILE: keysFile(['shop', 'other'].map((name) => callerEntry(name, { verbs: ['batch'] }))),
    PAYOUTS_LOG_LEVEL: 'silent',
  };
  server = await startProgram('src/starters/api/main.ts', environment, /listening/);
});

afterAll(async () => {
  await server.stop('SIGKILL');
  await world.stop();
});

const statusAt = async (url: string, from?: string) => {
  const dispatcher = new Agent({ ...(from !== undefined && { localAddress: from }) });
  const { statusCode, body } = await request(url, { dispatcher });
  await body.dump();
  await dispatcher.close();
  return statusCode;
};

/** In real time: the server is a process of its own. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(20);
}

/** Resolves when the server has refused or kept each connection. */
async function flood(count: number, sent: string): Promise<Set<Socket>> {
  const open = await openMany({ host: '127.0.0.1', port }, count, sent);
  await until(() => open.size <= PER_NETWORK);
  return open;
}

describe('H285 5,000 connections of one address', () => {
  test('that stall cost little memory, and neither probes nor other addresses notice them', async () => {
    const open = await flood(FLOOD, STALLED);
    expect(open.size).toBeGreaterThan(0);
    expect(await statusAt(`http://${loopback(monitoring)}/readyz`)).toBe(200);
    expect(await statusAt(`http://${loopback(monitoring)}/v1/payouts`)).toBe(404);
    expect(await statusAt(`http://${loopback(port)}/healthz`, '127.0.0.2')).toBe(200);
    expect(rssMiB(pidOf(server.child))).toBeLessThan(300);
    await until(() => open.size === 0);
  });

  test('that stay idle after a request are closed soon', async () => {
    const open = await flood(PER_NETWORK, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => open.size === 0);
  });
});

/** About 39 MiB of valid rows. The last one is refused, so nothing starts. */
function largeFile(): string {
  const pad = 'x'.repeat(240);
  const rows: object[] = manyRows(40_000).map((row) => ({ ...row, metadata: { a: pad, b: pad } }));
  rows.push(payoutRequest('last', { instructedAmount: { currency: 'CNY', amount: '999999.00' } }));
  return rows.map((row) => JSON.stringify(row)).join('\n');
}

test('H286 files of two callers are received together and read one after another', async () => {
  const file = largeFile();
  expect(file.length).toBeGreaterThan(35 * MIB);
  const pid = pidOf(server.child);
  let peak = 0;
  const measuring = setInterval(() => {
    peak = Math.max(peak, rssMiB(pid));
  }, 50);
  const at = `http://${loopback(port)}/v1/payout-batches?batchId=flood`;
  const headers = (caller: string) => ({ ...as(caller), 'content-type': 'application/x-ndjson' });
  const sent = Array.from({ length: FILES }, (_, nth) =>
    postOnce(at, file, headers(nth % 2 === 0 ? 'shop' : 'other')),
  );
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  clearInterval(measuring);
  expect(statuses).toEqual(sent.map(() => 403));
  expect(peak).toBeLessThan(512);
});
