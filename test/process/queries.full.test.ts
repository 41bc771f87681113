/**
 * Status reads while workers die. On the production server, whose workflow queue can be configured by name, also with
 * queries by callers of other languages and the Temporal UI, which bypass the API server:
 *
 *   RAW_QUERIES=1 npm run temporal-server -- npx vitest run test/process/queries.full.test.ts
 *
 * With 64 payouts, and a token that expires sooner than a worker dies:
 *
 *   SHORT_TOKENS=1 npm run temporal-server -- npx vitest run test/process/queries.full.test.ts -t 'by queries'
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { get, startApiServer, type TestApiServer } from '../support/http.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

const SHORT_TOKENS = process.env['SHORT_TOKENS'] !== undefined;
const TOKEN_SECONDS = 12;
const PAYOUTS = SHORT_TOKENS ? 64 : 32;
const READ_EVERY_MS = 500;
const KILL_EVERY_MS = 15_000;
/** On a slow machine, starting workers takes most of the time: the payouts end after the last kill. */
const MAX_KILLS = SHORT_TOKENS ? 40 : 6;
const SCENARIO = 'success final=25s notify=none';
/** A short timeout: without it, readers of a dead worker would accumulate without bounds. */
const RAW_TIMEOUT_MS = 10_000;

describe('H62 H52 every payout is read twice a second while one of two worker processes is killed every 15 s', () => {
  let world: PayoutWorld;
  let service: TestApiServer;
  let workers: OwnProcess[] = [];
  beforeAll(async () => {
    const settings = SHORT_TOKENS ? { applicationTokenSeconds: TOKEN_SECONDS } : {};
    // A worker that is killed during a create would leave a payout in review.
    const env = { PAYMENTS_REPEATED_CREATE: 'safe' };
    world = await PayoutWorld.start({ idle: true, env, settings });
    service = await startApiServer(world.client);
    workers = await Promise.all([startWorker(), startWorker()]);
  });
  afterAll(async () => {
    for (const worker of workers) await worker.stop('SIGKILL');
    await service.close();
    await world.stop();
  });

  const startWorker = () => startProgram('src/workers/main.ts', world.workerEnvironment, /worker ready/);

  /** One after the other until `ended`. */
  async function kill(ended: AbortSignal): Promise<number> {
    for (let kills = 0; ; kills += 1) {
      if (kills === MAX_KILLS || !(await slept(KILL_EVERY_MS, ended))) return kills;
      await workers.shift()?.stop('SIGKILL');
      workers.push(await startWorker());
    }
  }

  /** Twice a second until `ended`, whether or not earlier reads were answered, and after the end of the payout. */
  async function readOften(read: () => Promise<boolean>, ended: AbortSignal): Promise<boolean[]> {
    const reads: Promise<boolean>[] = [];
    while (await slept(READ_EVERY_MS, ended)) reads.push(read());
    return Promise.all(reads);
  }

  async function untilAllEnded(read: (ref: PayoutRef) => Promise<boolean>, how: string): Promise<void> {
    const refs = await Promise.all(Array.from({ length: PAYOUTS }, () => world.pay(SCENARIO)));
    const ended = new AbortController();
    const beganMs = performance.now();
    const kills = kill(ended.signal);
    const reads = refs.map((ref) => readOften(() => read(ref), ended.signal));
    const endedAfter: number[] = [];
    const seconds = () => Math.round((performance.now() - beganMs) / 1_000);
    const results = await Promise.all(
      refs.map(async (ref) => {
        const result = await world.payouts.result(ref);
        endedAfter.push(seconds());
        return result;
      }),
    );
    ended.abort();
    const answers = (await Promise.all(reads)).flat();
    const answered = answers.filter(Boolean).length;
    console.log(
      `${how}: half ended after ${endedAfter[PAYOUTS / 2 - 1]} s, all after ${endedAfter.at(-1)} s; ` +
        `${await kills} kills, ${answered} of ${answers.length} reads answered`,
    );
    expect(results.map(({ outcome }) => outcome)).toEqual(refs.map(() => 'SUCCESS'));
    expect(answered).toBeGreaterThan(0);
  }

  test('over HTTP, every payout ends while the reads continue', async () => {
    const url = ({ partnerOrderId }: PayoutRef) => `${service.url}/v1/payouts/${partnerOrderId}`;
    await untilAllEnded(async (ref) => (await get(url(ref))).status === 200, 'over HTTP');
  });

  test.runIf(SHORT_TOKENS || process.env['RAW_QUERIES'])(
    'by queries, every payout ends while the queries continue',
    async () => {
      const { connection } = world.client;
      const ask = (ref: PayoutRef) =>
        connection.withDeadline(Date.now() + RAW_TIMEOUT_MS, () => world.payouts.handle(ref).query('state'));
      const answered = (ref: PayoutRef) =>
        ask(ref).then(
          () => true,
          () => false,
        );
      await untilAllEnded(answered, 'by queries');
    },
  );
});

/** False when `ended` came first. */
async function slept(ms: number, ended: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal: ended }).catch(() => false);
}
