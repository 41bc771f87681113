import { createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Receiver } from './support/receiver.ts';
import { newPartnerOrderId, SimulatorClient, until, valueAt } from './support/simulator-client.ts';

describe('notifications', () => {
  let service: SimulatorClient;
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await Receiver.start();
    service = await SimulatorClient.start({ settings: { notificationBackoffMs: [10, 20, 30] } });
    service.control.changeApp('demo-app', { notifyUrl: receiver.url });
  });
  afterEach(() => service.control.reset());
  afterAll(async () => {
    await service.close();
    await receiver.close();
  });

  const about = (number: string): unknown[] =>
    receiver.arrived.filter((arrived) => arrived.body.includes(number)).map(({ body }) => JSON.parse(body));
  const untilTold = (number: string, count = 1) =>
    until(() => {
      const told = about(number);
      return told.length >= count ? told : undefined;
    });
  const log = (number: string) => service.control.ledgerOf(number).notifications;

  async function paid(scenario: string): Promise<{ number: string; orderId: unknown }> {
    const number = newPartnerOrderId();
    const reply = await service.pay(number, scenario);
    return { number, orderId: valueAt(reply.json, 'data.orderId') };
  }

  test('sent: one in the final state, with outOrderId, order and status', async () => {
    const { number, orderId } = await paid('partial');
    expect(await untilTold(number)).toEqual([
      { order_id: orderId, partner_order_id: number, status: 'PARTIAL_SUCCESS' },
    ]);
    await until(() => log(number).length === 1 || undefined);
    expect(log(number)).toMatchObject([{ mode: 'sent', attempt: 1, outcome: 200 }]);
  });

  test('uses camelCase if configured', async () => {
    service.control.changeSettings({ notificationStyle: 'camel' });
    const { number, orderId } = await paid('success');
    expect(await untilTold(number)).toEqual([{ orderId, partnerOrderId: number, status: 'SUCCESS' }]);
  });

  test.each(['none', 'lost'])('%s: none arrives', async (mode) => {
    const { number } = await paid(`success notify=${mode}`);
    await service.untilStatus(number, 'SUCCESS');
    const after = await paid('success');
    await untilTold(after.number);
    expect(about(number)).toEqual([]);
    expect(log(number).map((entry) => entry.outcome)).toEqual(mode === 'lost' ? ['lost'] : []);
  });

  test('doubled: two of them', async () => {
    const { number } = await paid('success notify=doubled');
    const [first, second] = await untilTold(number, 2);
    expect(second).toEqual(first);
  });

  test('early: arrives before the answer to create', async () => {
    const { number } = await paid('success notify=early');
    expect(about(number)).toMatchObject([{ status: 'SUCCESS' }]);
    expect((await service.result(number)).json).toMatchObject({ data: { status: 'SUCCESS' } });
  });

  test('late: arrives after the end, by the requested delay', async () => {
    const { number } = await paid('success notify=late:200ms');
    await until(() => log(number).length === 1 || undefined);
    const finishedAt = service.control.ledgerOf(number).orders[0]?.finishedAt ?? '';
    expect(Date.parse(log(number)[0]?.at ?? '') - Date.parse(finishedAt)).toBeGreaterThan(190);
  });

  test('out-of-order: PROCESSING arrives after SUCCESS', async () => {
    const { number } = await paid('success notify=out-of-order');
    const told = await untilTold(number, 2);
    expect(told.map((notification) => valueAt(notification, 'status'))).toEqual(['SUCCESS', 'PROCESSING']);
  });

  test('forged: says SUCCESS while the order is open, with an invalid signature', async () => {
    service.control.changeSettings({ notificationSecret: 'agreed' });
    const { number } = await paid('failure final=1h notify=forged');
    expect(await untilTold(number)).toMatchObject([{ status: 'SUCCESS' }]);
    expect((await service.result(number)).json).toMatchObject({ data: { status: 'PROCESSING' } });
    expect(verified(lastAbout(number), 'agreed')).toBe(false);
    service.control.changeOrder(number, { status: 'FAILED' });
    expect((await untilTold(number, 2))[1]).toMatchObject({ status: 'FAILED' });
    expect(verified(lastAbout(number), 'agreed')).toBe(true);
  });

  test('wrong-order: names an order that does not exist', async () => {
    const { number, orderId } = await paid('success notify=wrong-order');
    const [told] = await untilTold(number);
    expect(valueAt(told, 'order_id')).toMatch(/^PO/);
    expect(valueAt(told, 'order_id')).not.toBe(orderId);
  });

  test.each(['plain secret', `whsec_${Buffer.from('binary').toString('base64')}`])(
    'signed with %s as in Standard Webhooks',
    async (secret) => {
      service.control.changeSettings({ notificationSecret: secret });
      const { number } = await paid('success');
      await untilTold(number);
      expect(verified(lastAbout(number), secret)).toBe(true);
      expect(lastAbout(number)?.headers['webhook-id']).toMatch(/^msg_/);
    },
  );

  test('repeated under the same id until the receiver answers 2xx', async () => {
    receiver.answers.push(500, 503);
    const { number } = await paid('success');
    await until(() => log(number).length === 3 || undefined);
    expect(log(number).map((entry) => entry.outcome)).toEqual([500, 503, 200]);
  });

  test('abandoned after the last retry, without harm to the simulator', async () => {
    service.control.changeApp('demo-app', { notifyUrl: 'http://127.0.0.1:1/nobody' });
    const { number } = await paid('success');
    await until(() => log(number).length === 4 || undefined);
    service.control.changeApp('demo-app', { notifyUrl: receiver.url });
    expect((await service.result(number)).json).toMatchObject({ code: 200 });
  });

  test('the control API sends any status, order, body or signature', async () => {
    const { number } = await paid('stuck');
    await service.control.notify({
      partnerOrderId: number,
      overrides: { status: 'ODD', orderId: 'PO-x' },
      times: 2,
    });
    expect(about(number)).toEqual([
      { order_id: 'PO-x', partner_order_id: number, status: 'ODD' },
      { order_id: 'PO-x', partner_order_id: number, status: 'ODD' },
    ]);
    await service.control.notify({ partnerOrderId: 'nobody', overrides: { rawBody: `{{{${number}` } });
    expect(lastAbout(number)?.body).toBe(`{{{${number}`);
  });

  function lastAbout(number: string) {
    return receiver.arrived.findLast((arrived) => arrived.body.includes(number));
  }
});

function verified(
  arrived: { headers: Record<string, string | string[] | undefined>; body: string } | undefined,
  secret: string,
): boolean {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  const { headers, body } = arrived ?? { headers: {}, body: '' };
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  return headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
}
