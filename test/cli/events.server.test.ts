/** `payouts events …` as a person runs it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../support/cli.ts';
import {
  deliveryOf,
  EventEndpoint,
  eventsFile,
  startDelivery,
  untilEndpoint,
} from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';

describe('payouts events', () => {
  let endpoint: EventEndpoint;
  let world: PayoutWorld;
  const run = (...args: string[]) => cli(world.workerEnvironment, ['events', ...args]);

  beforeAll(async () => {
    endpoint = await EventEndpoint.start();
    world = await PayoutWorld.start({ env: { PAYOUTS_EVENTS_FILE: eventsFile([{ url: endpoint.url }]) } });
    await startDelivery(world.client, 'shop', { firstPauseMs: 20, maxPauseMs: 50, giveUpMs: 500 });
  });
  afterAll(async () => {
    await world?.stop();
    await endpoint?.stop();
  });

  test('list shows the events of a payout, and the endpoints', async () => {
    const { partnerOrderId } = await world.pay('success final=0s');
    const { id, event } = await endpoint.until(partnerOrderId, 'payout.completed');
    await untilEndpoint(world.client, ({ delivered }) => delivered === 1);
    const listed = await run('list', '--payout', partnerOrderId, '--json');
    expect(listed.json()).toEqual([{ id, ...event }]);
    expect((await run('list', '--payout', partnerOrderId)).stdout).toContain(id);
    const endpoints = await eventually(async () => {
      const { stdout, json } = await run('list', '--json');
      return stdout.startsWith('[\n') ? json() : undefined;
    });
    expect(endpoints).toMatchObject([{ endpoint: 'shop', isEnabled: true, waiting: 0, delivered: 1 }]);
    expect((await run('list', '--endpoint', 'shop')).stdout).toContain('Everything has been delivered.');
    expect((await run('list', '--endpoint', 'none')).code).toBe(3);
    expect((await run('list', '--payout', 'none')).code).toBe(3);
  });

  test('resend sends the events of a payout, or all since a time, again', async () => {
    const since = new Date().toISOString();
    const { partnerOrderId } = await world.pay('success final=0s');
    await endpoint.until(partnerOrderId, 'payout.completed');
    const again = await run('resend', '--payout', partnerOrderId, '--json');
    expect(again.json()).toEqual({ events: 1, endpoints: ['shop'] });
    await eventually(() => endpoint.of(partnerOrderId).length === 2 || undefined);
    await eventually(async () => {
      const { stdout } = await run('resend', '--endpoint', 'shop', '--since', since);
      return stdout.startsWith('1 events are sent again to shop') || undefined;
    });
    await eventually(() => endpoint.of(partnerOrderId).length >= 3 || undefined);
    expect(new Set(endpoint.of(partnerOrderId).map(({ id }) => id)).size).toBe(1);
  });

  test('test says what an endpoint answers, and enable lets a disabled one get events', async () => {
    const good = await run('test', '--endpoint', 'shop');
    expect(good).toMatchObject({ code: 0, stdout: expect.stringMatching(/^shop accepted evt_[0-9a-f]{32}/) });
    endpoint.answer = () => 500;
    const bad = await run('test', '--endpoint', 'shop');
    expect(bad).toMatchObject({ code: 4, stdout: 'shop failed: HTTP_500\n' });
    const { partnerOrderId } = await world.pay('success final=0s');
    await untilEndpoint(world.client, ({ isEnabled }) => !isEnabled);
    expect((await run('list', '--endpoint', 'shop')).stdout).toContain('ENDPOINT_DISABLED');
    endpoint.answer = () => 200;
    const enabled = await run('enable', '--endpoint', 'shop', '--by', 'olga', '--json');
    expect(enabled.json()).toMatchObject({ isEnabled: true, waiting: 1 });
    await untilEndpoint(world.client, ({ waiting }) => waiting === 0);
    expect(endpoint.typesOf(partnerOrderId)).toContain('payout.completed');
    expect((await deliveryOf(world.client).describe()).status.name).toBe('RUNNING');
  });

  test.each([
    [['resend'], 'give either --payout ID, or --endpoint NAME and --since TIME'],
    [['resend', '--endpoint', 'shop'], 'give either --payout ID'],
    [['resend', '--payout', 'p-1', '--endpoint', 'shop'], 'cannot be used with option'],
    [
      ['resend', '--endpoint', 'shop', '--since', 'yesterday'],
      "--since <time>' argument 'yesterday' is invalid. It must be a time",
    ],
    [['list', '--payout', 'p-1', '--endpoint', 'shop'], 'cannot be used with option'],
    [['list', '--endpoint', 'Shop'], "--endpoint <name>' argument 'Shop' is invalid. It must be"],
    [['test'], '--endpoint'],
    [['enable', '--endpoint', 'shop'], '--by'],
  ])('refuses %j', async (args, problem) => {
    const { code, stderr } = await run(...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(problem) });
  });
});
