import { afterAll, beforeAll, expect, test } from 'vitest';
import { MortalStage } from '../support/mortal-stage.ts';
import { freshNumber } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';

const KILLS = Number(process.env['ENGINE_KILLS'] ?? 3);

let stage: MortalStage;
beforeAll(async () => {
  stage = await MortalStage.start();
  await stage.startWorker();
});
afterAll(() => stage.stop());

test(`H41 Temporal is killed ${KILLS} times with open payouts: all end, each is paid once`, async () => {
  const { engine, payouts } = stage;
  const bodies = Array.from({ length: 8 }, () =>
    payoutRequest(freshNumber(), { platform: 'sim:slow final=3s' }),
  );
  for (const body of bodies) await payouts.start(body);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await engine.kill('SIGKILL');
    await engine.restart();
  }
  const ends = await Promise.all(bodies.map((body) => payouts.result(body)));
  expect(ends.map(({ outcome }) => outcome)).toEqual(bodies.map(() => 'SUCCESS'));
  expect(bodies.map((body) => stage.ledgerOf(body).debits)).toEqual(bodies.map(() => 1));
});
