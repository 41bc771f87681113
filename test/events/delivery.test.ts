import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventEndpoint, eventsFile, untilEndpoint } from '../support/event-endpoint.ts';
import { newPartnerOrderId, PayoutWorld } from '../support/payout-world.ts';

describe('events', () => {
  let endpoint: EventEndpoint;
  let world: PayoutWorld;
  beforeAll(async () => {
    endpoint = await EventEndpoint.start();
    world = await PayoutWorld.start({ env: { PAYOUTS_EVENTS_FILE: eventsFile([{ url: endpoint.url }]) } });
  });
  afterAll(async () => {
    await world?.stop();
    await endpoint?.stop();
  });

  test('a completed payout publishes its verified result', async () => {
    const ref = await world.pay('success final=0s');
    const result = await world.payouts.result(ref);
    const { event } = await endpoint.until(ref.partnerOrderId, 'payout.completed');
    expect(event).toMatchObject({
      type: 'payout.completed',
      data: { outcome: 'SUCCESS', orderId: result.orderId },
    });
    await untilEndpoint(world.client, ({ waiting, delivered }) => waiting === 0 && delivered === 1);
    const h = await world.history(ref);
    console.log(h.events?.map((e) => e.eventType));
    void newPartnerOrderId;
  });
});
