import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { resetBefore } from '../support/resets.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '10s' } });
});
afterAll(() => world.stop());

/** A payout that used the last money of its payer. */
async function paidWithTheLastMoney() {
  const body = payoutRequest(newPartnerOrderId(), { payerId: `payer-${newPartnerOrderId()}` });
  await world.payouts.start(body);
  await world.payouts.result(body);
  world.simulator.control.setAccounts(body.payerId, [{ currency: 'USD', available: '0.00' }]);
  return body;
}

describe('H107 a paid payout is never reported as not created', () => {
  test('H7 a foreign start after completion, when the account is empty', async () => {
    const body = await paidWithTheLastMoney();
    const handle = await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${body.partnerOrderId}`,
      args: [body],
    });
    expect(await handle.result()).toMatchObject({ outcome: 'SUCCESS' });
    expect([createsOf(world, body).length, debitsOf(world, body)]).toEqual([1, 1]);
  });

  test('H6 a Workflow Reset to before its quote, when the account is empty', async () => {
    const body = await paidWithTheLastMoney();
    await resetBefore(world, world.payouts.handle(body), 'beginPayout');
    expect(await world.payouts.result(body)).toMatchObject({ outcome: 'SUCCESS' });
    expect([createsOf(world, body).length, debitsOf(world, body)]).toEqual([1, 1]);
  });

  test('H6 a Workflow Reset of a payout that ended without an order ends the same way again', async () => {
    const body = payoutRequest(newPartnerOrderId(), { limits: { minRate: '99' } });
    await world.payouts.start(body);
    await world.payouts.result(body);
    await resetBefore(world, world.payouts.handle(body), 'beginPayout');
    expect(await world.payouts.result(body)).toMatchObject({ outcome: 'NOT_CREATED' });
    expect(createsOf(world, body)).toEqual([]);
  });
});
