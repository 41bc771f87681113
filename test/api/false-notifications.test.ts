/** False notifications over HTTP, against what the provider answers to queries. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { post, startApiServer, type TestApiServer } from '../support/http.ts';
import { NO_POLLS } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
beforeAll(async () => {
  world = await VirtualWorld.start({ env: NO_POLLS });
  service = await startApiServer(world.client);
});
afterAll(async () => {
  await service.close();
  await world.stop();
});

const notify = (body: object) => post(`${service.url}/v1/notifications/default`, body);
const asked = ({ partnerOrderId }: PayoutRef) =>
  world.simulator.control.calls({ partnerOrderId, operation: 'queryResult' }).length;

async function open(): Promise<{ ref: PayoutRef; orderId: string }> {
  const ref = await world.pay('stuck notify=none');
  const { orderId = '' } = await world.until(ref, ({ phase }) => phase === 'PROCESSING');
  return { ref, orderId };
}

describe('H19 a notification never decides the outcome', () => {
  test.each(['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'])(
    '%s for an open order: the payout stays open',
    async (status) => {
      const { ref, orderId } = await open();
      const said = { order_id: orderId, partner_order_id: ref.partnerOrderId, status, complete_flag: true };
      expect((await notify(said)).status).toBe(202);
      // The answer has been evaluated once it is confirmed.
      const state = await world.until(
        ref,
        ({ lastConfirmedAt, sentence }) =>
          asked(ref) === 1 && lastConfirmedAt !== undefined && sentence.includes('PROCESSING'),
      );
      expect(state).toMatchObject({ phase: 'PROCESSING', needsAttention: false });
      expect(state.outcome).toBeUndefined();
    },
  );

  test.each([
    ['SUCCESS', 'FAILED'],
    ['FAILED', 'SUCCESS'],
  ])('%s for an order that ended as %s: the order decides', async (said, truth) => {
    const { ref } = await open();
    world.simulator.control.changeOrder(ref.partnerOrderId, { status: truth });
    expect((await notify({ partner_order_id: ref.partnerOrderId, status: said })).status).toBe(202);
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: truth, learnedBy: 'notification' });
  });
});
