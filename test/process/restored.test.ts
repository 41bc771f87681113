import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import type { PayoutRequest } from '../../src/domain/payout.ts';
import { Payouts } from '../../src/starters/payouts.ts';
import { eventually, freshNumber, QUICK } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { payoutRequest } from '../support/requests.ts';

/** A third scheduled, a third awaiting approval, a third under way; the campaign has 100 (`RESTORED_PAYOUTS=100`). */
const COUNT = Number(process.env['RESTORED_PAYOUTS'] ?? 30);
const DATABASE = 'temporal.db';

let folder: string;
let engine: DevServer;
let simulator: Simulator;
let worker: OwnProcess;
let connection: Connection;
let payouts: Payouts;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payouts-restored-'));
  engine = await startDevServer({ always: true, ui: false, dbFile: join(folder, DATABASE) });
  simulator = await startSimulator({ settings: { callsPerSecond: 1_000 } });
  connection = await Connection.connect({ address: engine.address });
  payouts = new Payouts({ client: new Client({ connection }), environment: 'test' });
});

afterAll(async () => {
  await worker.stop('SIGKILL');
  await connection.close();
  await simulator.close();
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function startWorker(env: Record<string, string> = {}): Promise<void> {
  worker = await startProgram(
    'src/workers/main.ts',
    {
      ...QUICK,
      PAYMENTS_BASE_URL: simulator.url,
      PAYMENTS_AUTH_URL: simulator.url,
      PAYMENTS_CALLS_PER_SECOND: '500',
      PAYOUTS_CONFIRMATION_WINDOW: '3s',
      // Those under way are polled all the while: often enough, and no more.
      PAYOUTS_POLL_FIRST: '2s',
      PAYOUTS_POLL_MAX: '10s',
      TEMPORAL_ADDRESS: engine.address,
      ...env,
    },
    /worker ready/,
  );
}

/** As an operator does: the workers first, then Temporal with its database. */
async function stopAll(): Promise<void> {
  await worker.stop('SIGKILL');
  await engine.stop();
}

function copyDatabase(from: string, to: string): void {
  for (const file of readdirSync(to)) if (file.startsWith(DATABASE)) rmSync(join(to, file));
  for (const file of readdirSync(from))
    if (file.startsWith(DATABASE)) cpSync(join(from, file), join(to, basename(file)));
}

const ledgerOf = ({ partnerOrderId }: PayoutRequest) => simulator.control.ledgerOf(partnerOrderId);

/** Or later: on a slow machine a payout may have gone on by the time we look, which makes it one under way. */
async function untilPhase(bodies: readonly PayoutRequest[], phase: string): Promise<void> {
  const reached: unknown[] = [phase, 'PROCESSING', 'DONE'];
  for (const body of bodies)
    await eventually(async () => {
      const { searchAttributes } = await payouts.handle(body).describe();
      return reached.includes(searchAttributes['PayoutPhase']?.[0]) || undefined;
    });
}

/** A worker that is killed between its claim and its send leaves a payout in review; a person looks and decides. */
async function isPaid(body: PayoutRequest): Promise<boolean> {
  if (ledgerOf(body).debits > 0) return true;
  const state = await payouts.state(body).catch(() => undefined);
  if (state?.phase === 'NEEDS_REVIEW')
    await payouts.resolve(body, { by: 'olga', created: false, then: 'retry' }).catch(() => undefined);
  return false;
}

test(`H53 Temporal is restored to a state before ${COUNT} payouts were paid: one POST each`, {
  timeout: 600_000,
}, async () => {
  await startWorker();
  const bodies = Array.from({ length: COUNT }, (_, at) => {
    const kinds: Partial<PayoutRequest>[] = [
      { notBefore: new Date(Date.now() + 20_000).toISOString() },
      { approval: 'required' },
      { platform: 'sim:slow final=1h' },
    ];
    return payoutRequest(freshNumber(), { platform: 'sim:success', ...kinds[at % kinds.length] });
  });
  const [scheduled, awaiting, underWay] = [0, 1, 2].map((kind) => bodies.filter((_, at) => at % 3 === kind));
  for (const body of bodies) await payouts.start(body);
  await untilPhase(underWay ?? [], 'PROCESSING');
  await untilPhase(awaiting ?? [], 'AWAITING_APPROVAL');
  await untilPhase(scheduled ?? [], 'SCHEDULED');
  await stopAll();
  const snapshot = mkdtempSync(join(folder, 'snapshot-'));
  copyDatabase(folder, snapshot);

  await engine.restart();
  await startWorker();
  for (const body of awaiting ?? []) await payouts.approve(body, { by: 'olga' });
  for (const body of bodies) await eventually(async () => (await isPaid(body)) || undefined);

  await stopAll();
  copyDatabase(snapshot, folder);
  const recoveredAt = new Date().toISOString();
  await engine.restart();
  await startWorker({ PAYOUTS_TEMPORAL_RECOVERED_AT: recoveredAt });
  for (const body of underWay ?? [])
    simulator.control.changeOrder(body.partnerOrderId, { status: 'SUCCESS' });
  // In the restored state nobody has approved yet. A payout that has been confirmed by then needs no approval.
  for (const body of awaiting ?? []) await payouts.approve(body, { by: 'olga' }).catch(() => undefined);
  const results = await Promise.all(bodies.map((body) => payouts.result(body)));
  expect(results.map(({ outcome }) => outcome)).toEqual(bodies.map(() => 'SUCCESS'));
  const posts = bodies.map((body) => [ledgerOf(body).creates.length, ledgerOf(body).debits]);
  expect(posts).toEqual(bodies.map(() => [1, 1]));
});
