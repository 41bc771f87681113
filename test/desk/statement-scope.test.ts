import { expect, onTestFinished, test } from 'vitest';
import { isoTime } from '../../src/domain/time.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { DeskBrowser, startDesk } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const DAY_MS = 86_400_000;

test('H339 the totals of a statement cover only what the key may see', async () => {
  const world = await VirtualWorld.start();
  const scope = { idPrefix: 'shop-', clientIds: ['client-2'], payerIds: ['payer-1'] };
  const server = await startDesk(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('all'), callerEntry('scoped', scope)]),
  });
  onTestFinished(async () => {
    await server.close();
    await world.stop();
  });
  for (const [id, clientId, amount] of [
    ['shop-1', 'client-1', '77.31'],
    ['shop-2', 'client-2', '12.34'],
  ] as const) {
    const instructedAmount = { currency: 'CNY', amount };
    const body = payoutRequest(id, { platform: 'sim:success final=0s', clientId, instructedAmount });
    await world.payouts.start(body);
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
  }
  const nowMs = world.clock.wallMs();
  const [from, to] = [nowMs - DAY_MS, nowMs + DAY_MS].map((ms) => isoTime(ms).slice(0, 10));
  const pageOf = async (name: string) => {
    const browser = new DeskBrowser(server.url);
    await browser.signIn(`key-of-${name}`);
    return (await browser.get(`/desk/statement?from=${from}&to=${to}`)).html;
  };
  // Visibility shows the ends a moment later.
  await eventually(async () => (await pageOf('all')).includes('89.65') || undefined);
  const scoped = await pageOf('scoped');
  expect(scoped).toContain('12.34');
  expect(scoped).not.toMatch(/77\.31|89\.65/);
});
