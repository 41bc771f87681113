import { expect, onTestFinished, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { post, startApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const CALLERS = ['shop', 'bank', 'store', 'market'];

async function startWorld(answersAfterMs: [number, number]) {
  const world = await VirtualWorld.start({
    settings: { callsPerSecond: 20, answersAfterMs },
    env: { PAYMENTS_CALLS_PER_SECOND: '20' },
  });
  const service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile(CALLERS.map((name) => callerEntry(name))),
  });
  onTestFinished(async () => {
    await service.close();
    await world.stop();
  });
  const payoutMs = async () => {
    const beganMs = world.clock.wallMs();
    const ref = await world.pay('success final=0s');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    return world.clock.wallMs() - beganMs;
  };
  const flood = (caller: string, count: number) =>
    Array.from({ length: count }, async () => {
      const request = JSON.stringify(payoutRequest(newPartnerOrderId()));
      const { status } = await post(`${service.url}/v1/quotes`, request, as(caller));
      return { status, atMs: world.clock.wallMs() };
    });
  const medianMs = async () => {
    const took: number[] = [];
    while (took.length < 5) took.push(await payoutMs());
    return took.sort((one, other) => one - other)[2] ?? Number.NaN;
  };
  return { medianMs, flood };
}

test('H269 a payout beside a flood of quotes takes at most 1.5 times its time', async () => {
  const { medianMs, flood } = await startWorld([50, 150]);
  const alone = await medianMs();
  const quotes = CALLERS.flatMap((caller) => flood(caller, 100));
  await Promise.race(quotes);
  const beside = await medianMs();
  expect(beside).toBeLessThan(1.5 * alone);
  const statuses = (await Promise.all(quotes)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
});

test("H269 other callers' quotes don't wait behind the flood of one, although the provider is slow", async () => {
  const { flood } = await startWorld([900, 1_000]);
  const quotes = flood('shop', 25);
  await Promise.race(quotes);
  const others = await Promise.all(['bank', 'store', 'market'].flatMap((caller) => flood(caller, 1)));
  expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
  await Promise.all(quotes);
});
