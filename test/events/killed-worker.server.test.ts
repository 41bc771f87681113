import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Events } from '../../src/client/events.ts';
import { EventEndpoint, eventsFile } from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { KillableStage } from '../support/killable-stage.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

describe('H168 a worker dies while it sends an event', () => {
  let stage: KillableStage;
  let endpoint: EventEndpoint;
  beforeAll(async () => {
    [stage, endpoint] = await Promise.all([KillableStage.start(), EventEndpoint.start()]);
  });
  afterAll(async () => {
    await stage?.stop();
    await endpoint?.stop();
  });

  test('the next worker delivers it under the same id, after an attempt that may have arrived', async () => {
    const environment = { PAYOUTS_EVENTS_FILE: eventsFile([{ url: endpoint.url }]) };
    const request = payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s' });
    endpoint.answer = () => 'never';
    await stage.startWorker(environment);
    await stage.payouts.start(request);
    await endpoint.until(request.partnerOrderId, 'payout.completed');
    await stage.killWorker();
    endpoint.answer = () => 200;
    await stage.startWorker(environment);
    const events = new Events({ client: stage.client, environment: 'test' });
    await eventually(async () => {
      const state = await events.endpoint({ endpoint: 'shop' }).catch(() => undefined);
      return state?.delivered === 1 || undefined;
    });
    const ids = endpoint.of(request.partnerOrderId).map(({ id }) => id);
    expect(ids.length).toBeGreaterThanOrEqual(2);
    expect(new Set(ids).size).toBe(1);
    const bodies = endpoint.of(request.partnerOrderId).map(({ body }) => body);
    expect(new Set(bodies).size).toBe(1);
  });
});
