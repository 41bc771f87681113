import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import { Payouts } from '../../src/client/payouts.ts';
import { eventually } from '../support/eventually.ts';
import { get, getOnce, postOnce } from '../support/http.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let folder: string;
let temporal: DevServer;
let connection: Connection;
let service: OwnProcess;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payouts-receiver-'));
  temporal = await startDevServer({ always: true, ui: false, dbFile: join(folder, 'temporal.db') });
  connection = await Connection.connect({ address: temporal.address });
  const [port = 0] = await freePorts(1);
  const environment = {
    TEMPORAL_ADDRESS: temporal.address,
    PAYOUTS_API_LISTEN: `127.0.0.1:${port}`,
    PAYMENTS_ENVIRONMENT: 'test',
    PAYMENTS_BASE_URL: 'http://127.0.0.1:9',
    PAYOUTS_DRAIN: '2s',
  };
  service = await startProgram('src/starters/api/main.ts', environment, /API server listening on/);
  url = /API server listening on (\S+)/.exec(service.output())?.[1] ?? '';
});

afterAll(async () => {
  await service.stop('SIGKILL');
  await connection.close();
  await temporal.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('H33 acknowledges a notification only once Temporal has it: returns 503 when Temporal is killed meanwhile', async () => {
  const payouts = new Payouts({ client: new Client({ connection }) });
  const { partnerOrderId } = await payouts.start(payoutRequest(newPartnerOrderId()));
  const send = (status: string) =>
    postOnce(`${url}/v1/notifications/default`, { partner_order_id: partnerOrderId, status });
  const recorded = async () => {
    const { events } = await payouts.handle({ partnerOrderId }).fetchHistory();
    const inputs = (events ?? []).flatMap((event) => event.workflowExecutionSignaledEventAttributes ?? []);
    return inputs.map(({ input }) => Buffer.from(input?.payloads?.[0]?.data ?? []).toString());
  };

  const acknowledged: string[] = [];
  const refused: string[] = [];
  let temporalIsUp = true;
  const sender = (async () => {
    for (let i = 0; refused.length === 0 || !temporalIsUp || acknowledged.at(-1) !== `N${i - 1}`; i += 1) {
      const answer = await send(`N${i}`);
      expect([202, 503]).toContain(answer.status);
      if (answer.status === 503) expect(answer.headers['retry-after']).toBe('5');
      (answer.status === 202 ? acknowledged : refused).push(`N${i}`);
    }
  })();
  await eventually(() => acknowledged.length > 0 || undefined);
  temporalIsUp = false;
  await temporal.kill('SIGKILL');
  expect((await get(`${url}/healthz`)).status).toBe(200);
  expect((await getOnce(`${url}/readyz`)).status).toBe(503);
  await eventually(() => refused.length > 0 || undefined);
  await temporal.restart();
  temporalIsUp = true;
  await sender;

  const inHistory = (await recorded()).join('\n');
  for (const status of acknowledged) expect(inHistory).toContain(`"${status}"`);
  await eventually(async () => (await getOnce(`${url}/readyz`)).status === 200 || undefined);
});

test('SIGTERM shuts the API server down cleanly', async () => {
  expect(await service.stop('SIGTERM')).toBe(0);
});
