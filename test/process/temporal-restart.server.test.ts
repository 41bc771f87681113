import { afterAll, beforeAll, expect, test } from 'vitest';
import { KillableStage } from '../support/killable-stage.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const KILLS = 1;

let stage: KillableStage;
beforeAll(async () => {
  stage = await KillableStage.start();
  await stage.startWorker();
});
afterAll(() => stage.stop());

test(`H41 Temporal is killed ${KILLS}× with open payouts: all end, each is paid once`, async () => {
  const { temporal, payouts } = stage;
  const bodies = Array.from({ length: 8 }, () =>
    payoutRequest(newPartnerOrderId(), { platform: 'sim:slow final=3s' }),
  );
  for (const body of bodies) await payouts.start(body);
  for (let kill = 0; kill < KILLS; kill += 1) {
    await temporal.kill('SIGKILL');
    await temporal.restart();
  }
  const ends = await Promise.all(bodies.map((body) => payouts.result(body)));
  expect(ends.map(({ outcome }) => outcome)).toEqual(bodies.map(() => 'SUCCESS'));
  expect(bodies.map((body) => stage.ledgerOf(body).debits)).toEqual(bodies.map(() => 1));
});
