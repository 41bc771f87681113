/** What is published, by real workers to a real socket. */
import { generateKeyPairSync, verify } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { Events } from '../../src/client/events.ts';
import { eventsQuery } from '../../src/contract/workflows.ts';
import { EventEndpoint, eventsFile, hmacSecret, untilEndpoint } from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const secret = hmacSecret();
/** Of the endpoint `ops`: the private key is that of the file, and the receiver has the public one. */
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const seed = privateKey.export({ format: 'jwk' }).d ?? '';
let endpoint: EventEndpoint;
let ops: EventEndpoint;
let world: VirtualWorld;

beforeAll(async () => {
  [endpoint, ops] = await Promise.all([EventEndpoint.start(), EventEndpoint.start()]);
  const file = eventsFile([
    { url: endpoint.url, secrets: [secret] },
    {
      ...{ name: 'ops', url: ops.url, types: ['payout.needs_attention', 'payout.attention_cleared'] },
      secrets: [`whsk_${Buffer.from(seed, 'base64url').toString('base64')}`],
    },
  ]);
  world = await VirtualWorld.start({ env: { PAYOUTS_EVENTS_FILE: file, PAYOUTS_FOLLOW_UP: '2s' } });
});
afterAll(async () => {
  await world?.stop();
  await Promise.all([endpoint?.stop(), ops?.stop()]);
});

describe('a payout', () => {
  test('H173 publishes its end with the result that was verified', async () => {
    const metadata = { invoice: 'F-2026-17' };
    const ref = await world.pay('split splits=3 final=0s', { metadata });
    const result = await world.payouts.result(ref);
    const { event, headers, body } = await endpoint.until(ref.partnerOrderId, 'payout.completed');
    const { orderId, quote, received, debits, splits, finishedAt } = result;
    expect(event).toMatchObject({
      type: 'payout.completed',
      data: {
        app: 'default',
        phase: 'DONE',
        outcome: 'SUCCESS',
        orderId,
        quote,
        received,
        debits,
        finishedAt,
        metadata,
      },
    });
    expect(event.data).toMatchObject({ splits: splits.map(({ distributeId }) => ({ distributeId })) });
    expect(new Webhook(secret).verify(body, headers)).toEqual(event);
    expect(endpoint.typesOf(ref.partnerOrderId)).toEqual(['payout.completed']);
  });

  test('H170 names no beneficiary, and no text of the provider or of a person', async () => {
    const partnerOrderId = newPartnerOrderId();
    const { receiver } = payoutRequest(partnerOrderId);
    const note = `not ${receiver.bankAccountName}`;
    await world.pay('success', { partnerOrderId, approval: 'required' });
    await endpoint.until(partnerOrderId, 'payout.awaiting_approval');
    await world.payouts.refuse({ partnerOrderId }, { by: 'olga', note });
    const { event } = await endpoint.until(partnerOrderId, 'payout.completed');
    expect(event.data).toMatchObject({ outcome: 'NOT_CREATED', reason: { code: 'APPROVAL_REFUSED' } });
    const sent = endpoint
      .of(partnerOrderId)
      .map(({ body }) => body)
      .join();
    for (const value of [...Object.values(receiver).filter((one) => `${one}`.length > 5), note, 'olga'])
      expect(sent).not.toContain(value);
  });

  test('publishes the quote that awaits an approval, once', async () => {
    const partnerOrderId = newPartnerOrderId();
    await world.pay('success final=0s', { partnerOrderId, approval: 'required' });
    const { event } = await endpoint.until(partnerOrderId, 'payout.awaiting_approval');
    const state = await world.payouts.state({ partnerOrderId });
    expect(event.data).toMatchObject({
      phase: 'AWAITING_APPROVAL',
      instructedAmount: { currency: 'CNY', amount: '100.00' },
      quote: state.quote,
      approvalExpiresAt: state.approvalExpiresAt,
      lockExpiresAt: state.lockExpiresAt,
    });
    await world.payouts.approve({ partnerOrderId }, { by: 'olga' });
    await endpoint.until(partnerOrderId, 'payout.completed');
    expect(endpoint.typesOf(partnerOrderId)).toEqual(['payout.awaiting_approval', 'payout.completed']);
  });

  test('publishes its attention flags, and that they are gone; an endpoint gets only the types it wants', async () => {
    const ref = await world.pay('unknown-status answers=1');
    await endpoint.until(ref.partnerOrderId, 'payout.completed');
    const types = ['payout.needs_attention', 'payout.attention_cleared', 'payout.completed'];
    expect(endpoint.typesOf(ref.partnerOrderId)).toEqual(types);
    await ops.until(ref.partnerOrderId, 'payout.attention_cleared');
    expect(ops.of(ref.partnerOrderId)[0]?.event.data).toMatchObject({
      reasons: [{ code: 'UNKNOWN_STATUS' }],
    });
    await untilEndpoint(world.client, ({ waiting }) => waiting === 0, 'ops');
    expect(ops.typesOf(ref.partnerOrderId)).toEqual(types.slice(0, 2));
    for (const { headers, body } of ops.of(ref.partnerOrderId)) {
      const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' } = headers;
      const [version, signature = ''] = signatures.split(',');
      expect(version).toBe('v1a');
      const isSigned = (text: string) =>
        verify(null, Buffer.from(`${id}.${at}.${text}`), publicKey, Buffer.from(signature, 'base64'));
      expect([isSigned(body), isSigned(`${body} `)]).toEqual([true, false]);
    }
    // The same event has one id for all endpoints.
    expect(ops.of(ref.partnerOrderId).map(({ id }) => id)).toEqual(
      endpoint
        .of(ref.partnerOrderId)
        .slice(0, 2)
        .map(({ id }) => id),
    );
  });

  test('its events carry over when it continues as new', async () => {
    const partnerOrderId = newPartnerOrderId();
    await world.pay('success final=0s', { partnerOrderId, approval: 'required' });
    const { id } = await endpoint.until(partnerOrderId, 'payout.awaiting_approval');
    const handle = world.payouts.handle({ partnerOrderId });
    await world.lengthen({ partnerOrderId });
    await world.payouts.approve({ partnerOrderId }, { by: 'olga' });
    await endpoint.until(partnerOrderId, 'payout.completed');
    const events = await handle.query(eventsQuery);
    expect(events.map(({ type }) => type)).toEqual(['payout.awaiting_approval', 'payout.completed']);
    expect(events[0]?.id).toBe(id);
  });
});

test('a follow-up publishes that money came back after the end', async () => {
  const metadata = { invoice: 'R-1' };
  const ref = await world.pay('success final=0s', { metadata });
  const result = await world.payouts.result(ref);
  world.simulator.control.changeOrder(ref.partnerOrderId, { splits: [{ index: 0, refund: true }] });
  const { startFollowUp, endedPayout } = await import('../../src/client/follow-ups.ts');
  const ended = await endedPayout(world.client, world.payouts.handle(ref).workflowId);
  if (!ended) throw new Error('it has not ended');
  await startFollowUp(world.client, ended);
  const { event } = await endpoint.until(ref.partnerOrderId, 'payout.changed_after_end');
  expect(event.data).toMatchObject({
    outcome: result.outcome,
    changed: true,
    returnedSums: [{ currency: 'CNY' }],
    metadata,
  });
  const listed = await new Events({ client: world.client, environment: 'test' }).ofPayout(ref);
  expect(listed.map(({ type }) => type)).toEqual(['payout.completed', 'payout.changed_after_end']);
});

test('a batch publishes its counts', async () => {
  const batchId = `b-${newPartnerOrderId()}`;
  const payouts = [1, 2].map(() => payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s' }));
  const batches = new Batches({ client: world.client, environment: 'test' });
  await batches.start({ batchId, payouts });
  const { event } = await eventually(() =>
    endpoint.received.find(({ event: { type } }) => type === 'batch.completed'),
  );
  expect(event.data).toMatchObject({ batchId, count: 2, done: 2, rejected: 0, outcomes: { SUCCESS: 2 } });
});

test('a token publishes that its user must authorize, with no token', async () => {
  const openId = `u-${newPartnerOrderId()}`;
  await world.client.workflow.start('tokenRenewal', {
    taskQueue: 'payouts',
    workflowId: `token:default:user:${openId}`,
    args: [{ environment: 'test', app: 'default', openId }],
  });
  const { event } = await eventually(() =>
    endpoint.received.find(({ event: { type } }) => type === 'token.needs_authorization'),
  );
  expect(event.data).toEqual({ app: 'default', openId, reasons: [{ code: 'NO_REFRESH_TOKEN' }] });
});

describe('H166 publishing costs a payout nothing', () => {
  const steps = async (over: VirtualWorld, ref: { partnerOrderId: string }) =>
    ((await over.history(ref)).events ?? []).flatMap(({ activityTaskScheduledEventAttributes: activity }) =>
      activity?.activityType?.name === undefined ? [] : [activity.activityType.name],
    );

  test('without an endpoint, its history has no further event', async () => {
    const plain = await VirtualWorld.start();
    try {
      const ref = await plain.pay('success final=0s');
      await plain.payouts.result(ref);
      expect(await steps(plain, ref)).not.toContain('publishEvents');
      expect(await plain.payouts.handle(ref).query(eventsQuery)).toEqual([]);
    } finally {
      await plain.stop();
    }
  });

  test('an endpoint that never answers delays no step, and adds the same events as one that does', async () => {
    endpoint.answer = () => 'never';
    try {
      const slow = await world.pay('success final=0s');
      await world.payouts.result(slow);
      endpoint.answer = () => 204;
      const fast = await world.pay('success final=0s');
      await world.payouts.result(fast);
      const [ofSlow, ofFast] = [await steps(world, slow), await steps(world, fast)];
      expect(ofSlow.filter((name) => name === 'publishEvents')).toHaveLength(1);
      expect(ofSlow).toEqual(ofFast);
    } finally {
      endpoint.answer = () => 204;
    }
  });
});
