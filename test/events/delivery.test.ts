/** How events reach an endpoint that fails, by real workers and a real socket. */
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Events } from '../../src/client/events.ts';
import type { QueuedEvent } from '../../src/contract/events.ts';
import { publishSignal } from '../../src/contract/workflows.ts';
import {
  deliveryOf,
  EventEndpoint,
  eventsFile,
  hmacSecret,
  type ReceivedEvent,
  startDelivery,
  untilEndpoint,
} from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let endpoint: EventEndpoint;
let world: VirtualWorld;
let events: Events;

beforeEach(async () => {
  endpoint = await EventEndpoint.start();
  world = await VirtualWorld.start({ env: { PAYOUTS_EVENTS_FILE: eventsFile([{ url: endpoint.url }]) } });
  events = new Events({ client: world.client, environment: 'test' });
});
afterEach(async () => {
  await world?.stop();
  await endpoint?.stop();
});

/** An event of a payout that only this test knows. */
function queued(source: string, at: number): QueuedEvent {
  const id = `evt_${source}-${at}`;
  const data = { app: 'default', partnerOrderId: source, clientId: 'c', payerId: 'p', phase: 'PROCESSING' };
  const body = JSON.stringify({ type: 'payout.attention_cleared', timestamp: '2026-01-31T08:00:00Z', data });
  return { id, source: `payout:default:${source}`, type: 'payout.attention_cleared', body };
}

async function publish(...all: readonly QueuedEvent[]): Promise<void> {
  await deliveryOf(world.client).signal(publishSignal, { events: [...all], atMs: world.clock.wallMs() });
}

const QUICK = { firstPauseMs: 20, maxPauseMs: 50 };
const drained = () => untilEndpoint(world.client, ({ waiting }) => waiting === 0);
const idsOf = (received: readonly ReceivedEvent[]) => received.map(({ id }) => id);

describe('H167 an endpoint fails for a while', () => {
  test('the events of a payout keep their order, and those of others do not wait', async () => {
    await startDelivery(world.client, 'shop', QUICK);
    let failures = 4;
    endpoint.answer = ({ id }) => (id === 'evt_a-1' && failures-- > 0 ? 503 : 200);
    await publish(...[1, 2, 3].flatMap((at) => [queued('a', at), queued('b', at)]));
    await drained();
    const all = idsOf(endpoint.received);
    expect(all.filter((id) => id.startsWith('evt_a'))).toEqual([
      ...Array.from({ length: 5 }, () => 'evt_a-1'),
      ...['evt_a-2', 'evt_a-3'],
    ]);
    expect(all.filter((id) => id.startsWith('evt_b'))).toEqual(['evt_b-1', 'evt_b-2', 'evt_b-3']);
    expect(all.indexOf('evt_b-3')).toBeLessThan(all.lastIndexOf('evt_a-1'));
  });

  test.each([301, 307, 400, 404, 500] as const)('an answer of %s is a failure', async (status) => {
    await startDelivery(world.client, 'shop', QUICK);
    endpoint.answer = () => (endpoint.received.length === 1 ? status : 202);
    await publish(queued('a', 1));
    const { lastFailure } = await drained();
    expect(lastFailure?.reason).toBe(`HTTP_${status}`);
    // A redirect is not followed: the receiver would have got the event once more.
    expect(idsOf(endpoint.received)).toEqual(['evt_a-1', 'evt_a-1']);
    const [first, second] = endpoint.received.map(({ body }) => body);
    expect(second).toBe(first);
  });

  test('a repeated signal delivers an event once; a decision to send it again delivers it again', async () => {
    await startDelivery(world.client, 'shop', QUICK);
    await publish(queued('a', 1));
    await drained();
    await publish(queued('a', 1));
    await publish(queued('a', 2));
    await untilEndpoint(world.client, ({ delivered }) => delivered === 2);
    await deliveryOf(world.client).signal(publishSignal, {
      events: [queued('a', 1)],
      atMs: world.clock.wallMs(),
      resend: true,
    });
    await untilEndpoint(world.client, ({ delivered }) => delivered === 3);
    expect(idsOf(endpoint.received)).toEqual(['evt_a-1', 'evt_a-2', 'evt_a-1']);
  });

  test('a signal that cannot be decoded changes nothing', async () => {
    await startDelivery(world.client, 'shop', QUICK);
    for (const junk of [undefined, 'x', { events: [{}], atMs: 1 }, { events: [queued('a', 1)] }])
      await deliveryOf(world.client).signal('publish', junk);
    await publish(queued('a', 2));
    await drained();
    expect(idsOf(endpoint.received)).toEqual(['evt_a-2']);
  });
});

describe('H169 an endpoint is dead', () => {
  test('it disables itself after it has only failed for three days, says so, and can be enabled', async () => {
    await startDelivery(world.client, 'shop', { ...QUICK, giveUpMs: 1_000 });
    endpoint.answer = () => 500;
    await publish(queued('a', 1), queued('b', 1));
    const state = await untilEndpoint(world.client, ({ isEnabled }) => !isEnabled);
    expect(state).toMatchObject({ waiting: 2, needsAttention: true, lastFailure: { reason: 'HTTP_500' } });
    expect(state.reasons.map(({ code }) => code)).toEqual(['ENDPOINT_DISABLED']);
    await eventually(async () => {
      const { searchAttributes } = await deliveryOf(world.client).describe();
      return searchAttributes['PayoutNeedsAttention']?.[0] === true || undefined;
    });
    const sent = endpoint.received.length;
    await publish(queued('a', 2));
    endpoint.answer = () => 204;
    expect(await events.test({ endpoint: 'shop' })).toMatchObject({ kind: 'delivered' });
    expect(endpoint.received.slice(sent).map(({ event: { type } }) => type)).toEqual(['endpoint.test']);
    await expect(events.enable({ endpoint: 'shop' }, '')).rejects.toThrow();
    await events.enable({ endpoint: 'shop' }, 'olga');
    expect(await drained()).toMatchObject({ isEnabled: true, needsAttention: false, delivered: 3 });
    expect(idsOf(endpoint.received.slice(sent + 1)).sort()).toEqual(['evt_a-1', 'evt_a-2', 'evt_b-1']);
  });

  test('410 disables it at once, and keeps what waits', async () => {
    await startDelivery(world.client, 'shop', QUICK);
    endpoint.answer = () => 410;
    await publish(...[1, 2, 3].map((at) => queued('a', at)));
    expect(await untilEndpoint(world.client, ({ isEnabled }) => !isEnabled)).toMatchObject({ waiting: 3 });
    expect(idsOf(endpoint.received)).toEqual(['evt_a-1']);
  });

  test('beyond the bound of its queue it disables itself, and counts what found no room', async () => {
    await startDelivery(world.client, 'shop', { firstPauseMs: 3_600_000, waiting: 5 });
    endpoint.answer = () => 500;
    await publish(...Array.from({ length: 8 }, (_, at) => queued('a', at)));
    const state = await untilEndpoint(world.client, ({ isEnabled }) => !isEnabled);
    expect(state).toMatchObject({ waiting: 5, lost: 3 });
    expect(state.reasons.map(({ code }) => code)).toEqual(['ENDPOINT_DISABLED', 'EVENTS_LOST']);
  });

  test('an event that alone fails for three days is given up, and the later ones follow', async () => {
    await startDelivery(world.client, 'shop', { ...QUICK, giveUpMs: 500 });
    endpoint.answer = ({ id }) => (id === 'evt_a-1' ? 400 : 200);
    await publish(queued('a', 1), queued('a', 2));
    // Others show that the endpoint works.
    for (let at = 1; ; at += 1) {
      await publish(queued('b', at));
      const state = await untilEndpoint(world.client, ({ delivered }) => delivered >= at);
      if (state.lost > 0) break;
    }
    const state = await drained();
    expect(state).toMatchObject({ isEnabled: true, lost: 1 });
    expect(idsOf(endpoint.received)).toContain('evt_a-2');
  });
});

test('beyond some hundred events, the queue has references, and reads the bodies from the payouts', async () => {
  await startDelivery(world.client, 'shop', { ...QUICK, bodies: 0 });
  const ref = await world.pay('success final=0s');
  await world.payouts.result(ref);
  const { event } = await endpoint.until(ref.partnerOrderId, 'payout.completed');
  expect(event.data).toMatchObject({ outcome: 'SUCCESS' });
  const { body: _body, ...gone } = queued('nobody', 1);
  await publish(gone);
  expect(await drained()).toMatchObject({ delivered: 1, lost: 1 });
});

test('a queue with more than a run may hold continues as new, and loses nothing', async () => {
  await startDelivery(world.client, 'shop', QUICK);
  const first = (await deliveryOf(world.client).describe()).runId;
  const ids: string[] = [];
  for (let at = 0; at < 400; at += 1) {
    const event = queued(`p${at % 7}`, at);
    ids.push(event.id);
    await publish(event);
  }
  await untilEndpoint(world.client, ({ delivered }) => delivered === 400);
  expect((await deliveryOf(world.client).describe()).runId).not.toBe(first);
  expect(idsOf(endpoint.received).sort()).toEqual(ids.sort());
});

test('the events of a payout, and all since a time, are sent again under the same ids', async () => {
  const since = new Date(world.clock.wallMs()).toISOString();
  const partnerOrderId = newPartnerOrderId();
  await world.pay('success final=0s', { partnerOrderId, approval: 'required' });
  await endpoint.until(partnerOrderId, 'payout.awaiting_approval');
  await world.payouts.approve({ partnerOrderId }, { by: 'olga' });
  await endpoint.until(partnerOrderId, 'payout.completed');
  await untilEndpoint(world.client, ({ waiting, delivered }) => waiting === 0 && delivered === 2);
  const before = idsOf(endpoint.received);
  expect((await events.ofPayout({ partnerOrderId })).map(({ id }) => id)).toEqual(before);
  await eventually(async () => (await events.endpoints('default')).length === 1 || undefined);
  expect(await events.resendPayout({ partnerOrderId })).toEqual({ events: 2, endpoints: ['shop'] });
  await untilEndpoint(world.client, ({ delivered }) => delivered === 4);
  const resent = await eventually(async () => {
    const found = await events.resendSince({ endpoint: 'shop' }, since);
    return found.events === 2 ? found : undefined;
  });
  expect(resent).toEqual({ events: 2, endpoints: ['shop'] });
  await untilEndpoint(world.client, ({ delivered }) => delivered >= 6);
  expect(new Set(idsOf(endpoint.received))).toEqual(new Set(before));
  const later = new Date(world.clock.wallMs() + 60_000).toISOString();
  expect(await events.resendSince({ endpoint: 'shop' }, later)).toMatchObject({ events: 0 });
  await expect(events.resendSince({ endpoint: 'none' }, since)).rejects.toThrow();
});

test('H171 a secret is replaced without a lost event', async () => {
  const [older, newer] = [hmacSecret(), hmacSecret()];
  for (const secrets of [[older], [newer, older], [newer]]) {
    await world.stopWorkers();
    await world.startWorkers({ PAYOUTS_EVENTS_FILE: eventsFile([{ url: endpoint.url, secrets }]) });
    const ref = await world.pay('success final=0s');
    const { headers, body } = await endpoint.until(ref.partnerOrderId, 'payout.completed');
    for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toBeTruthy();
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(secrets.length);
  }
});

test('H165 a worker does not connect to a private address, also if the file names it by name', async () => {
  await world.stopWorkers();
  const url = endpoint.url.replace('127.0.0.1', 'localhost');
  const file = eventsFile([{ url, allowPrivateAddress: false }]);
  await world.startWorkers({ PAYOUTS_EVENTS_FILE: file });
  const ref = await world.pay('success final=0s');
  await world.payouts.result(ref);
  const state = await untilEndpoint(world.client, ({ lastFailure }) => lastFailure !== undefined);
  expect(state).toMatchObject({ waiting: 1, lastFailure: { reason: 'ADDRESS_REFUSED' } });
  expect(await events.test({ endpoint: 'shop' })).toMatchObject({
    kind: 'failed',
    reason: 'ADDRESS_REFUSED',
  });
  expect(endpoint.received).toEqual([]);
});
