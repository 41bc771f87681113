import { expect, onTestFinished, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { post, startApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

test('H161 the same start joins a payout that continued as new while it awaits the approval of a policy', async () => {
  const world = await startWorld({ approvals: { above: { CNY: '100.00' }, callers: {} } });
  onTestFinished(() => world.stop());
  const server = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('market', { largestAmount: { CNY: '1000.00' } })]),
  });
  onTestFinished(() => server.close());
  const body = payoutRequest(newPartnerOrderId(), {
    ...{ platform: 'sim:success', instructedAmount: { currency: 'CNY', amount: '100.01' } },
  });
  const start = () => post(`${server.url}/v1/payouts`, body, as('market'));
  expect((await start()).status).toBe(202);
  await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
  const { runId } = await world.payouts.handle(body).describe();
  await world.lengthen(body);
  await eventually(async () => (await world.payouts.handle(body).describe()).runId !== runId || undefined);
  expect((await start()).status).toBe(202);
});
