import { beforeAll, describe, expect, inject, test } from 'vitest';
import { Pauses } from '../../src/client/leases.ts';
import { ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import { leaseWorkflowId } from '../../src/contract/ids.ts';
import { settingsIn } from '../../src/contract/rate-limit.ts';
import { RENEWAL_VALID_MS } from '../../src/domain/rate-limit.ts';
import { leaseKeeper } from '../../src/workers/kept-workflows.ts';
import {
  PayoutWorld,
  type PayoutWorldOptions,
  partnerOrderIdOf,
  refOf,
} from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';
import { LEASE_CHANGES, leaseOwner } from './lease-changes.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The longest way of a request to the provider in these worlds. */
const TRIP_MS = 20;
const APP = 'default';

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

/** A world with a lease owner, and what the tests do with it. */
async function scene(options: Partial<PayoutWorldOptions> = {}) {
  const system = new PayoutWorld({ workflows, seed: 1, workers: 2, ...options });
  const { world, client, payouts, provider, server } = system;
  const pauses = new Pauses({ client, environment: 'test' });
  const pass = (ms: number) => world.run({ withinMs: ms });
  await pass(10 * SECOND);
  const pause = () => world.finish(pauses.pause(APP, { by: 'olga', reason: 'a drill' }));
  return {
    ...{ system, world, server, pass, control: provider.control, pause },
    /** Until then, a create call may still be written. */
    pauseAndWait: async () => {
      await pause();
      await pass(RENEWAL_VALID_MS);
    },
    resume: () => world.finish(pauses.resume(APP, { by: 'olga' })),
    isPaused: async () => (await world.finish(pauses.state(APP))).paused !== null,
    owner: () => leaseOwner(system),
    state: (number: number) => world.finish(payouts.state(refOf(number))),
    result: (number: number) => world.finish(payouts.result(refOf(number)), 4 * HOUR),
    /** When each create call of these payouts arrived. */
    creates: (...numbers: readonly number[]) =>
      numbers.flatMap((number) =>
        provider.control.ledgerOf(partnerOrderIdOf(number)).creates.map(({ atMs }) => atMs),
      ),
  };
}

describe('H210 a paused application creates nothing', () => {
  test('H210 payouts under way wait unsent, polls continue, and each is paid once after the end of the pause', async () => {
    const { system, world, pass, pause, resume, state, result, creates, control } = await scene();
    await world.finish(system.start(1, { platform: 'sim:slow final=5m notify=none' }));
    while (creates(1).length === 0) await pass(SECOND);
    const numbers = Array.from({ length: 12 }, (_, at) => at + 2);
    // The first of them may have their turns when the pause begins.
    for (const number of numbers) await world.finish(system.start(number));
    await pause();
    const pausedAtMs = world.now;
    await pass(30 * MINUTE);
    for (const atMs of creates(...numbers))
      expect(atMs).toBeLessThan(pausedAtMs + RENEWAL_VALID_MS + TRIP_MS);
    const waiting = numbers.filter((number) => creates(number).length === 0);
    expect(waiting.length).toBeGreaterThan(6);
    for (const number of waiting) {
      const { phase, sentence, needsAttention } = await state(number);
      expect({ phase, needsAttention }).toEqual({ phase: 'PAUSED', needsAttention: false });
      expect(sentence).toMatch(/paused/);
    }
    // Queries continue: this payout has no notification.
    expect((await result(1)).outcome).toBe('SUCCESS');
    // Waiting payouts make no call.
    const quotes = () => control.calls().filter(({ operation }) => operation === 'fee').length;
    const quotesBefore = quotes();
    await pass(20 * MINUTE);
    expect(quotes()).toBe(quotesBefore);
    await resume();
    for (const number of numbers) expect((await result(number)).outcome).toBe('SUCCESS');
    for (const number of numbers)
      expect([creates(number).length, control.ledgerOf(partnerOrderIdOf(number)).debits]).toEqual([1, 1]);
    expect(world.violations).toEqual([]);
    await system.end();
  });

  test('H210 a waiting payout has a short history, sends nothing of unknown outcome, and can be canceled', async () => {
    const { system, world, pass, pauseAndWait, state, server, creates } = await scene();
    await pauseAndWait();
    const { workflowId } = await world.finish(system.start(1));
    await pass(6 * HOUR);
    expect((await state(1)).phase).toBe('PAUSED');
    expect(server.latest(workflowId)?.entries.length).toBeLessThan(80);
    await world.finish(system.payouts.cancel(refOf(1), { by: 'olga' }));
    expect((await state(1)).reason?.code).toBe('CANCELLED');
    expect(creates(1)).toEqual([]);
    await system.end();
  });

  test('H210 a start without a first call of its create is not paid after a cut-off owner has lost the lease', async () => {
    const { system, world, pass, pause, owner, creates, result, resume } = await scene();
    const numbers = [1, 2, 3, 4, 5, 6];
    for (const number of numbers) await world.finish(system.start(number));
    const cut = owner();
    if (!cut) throw new Error('no owner');
    cut.cutOff = true;
    await pause();
    const pausedAtMs = world.now;
    await pass(MINUTE);
    cut.cutOff = false;
    await pass(MINUTE);
    for (const atMs of creates(...numbers))
      expect(atMs).toBeLessThan(pausedAtMs + RENEWAL_VALID_MS + TRIP_MS);
    expect(creates(...numbers).length).toBeLessThan(numbers.length);
    await resume();
    for (const number of numbers) expect((await result(number)).outcome).toBe('SUCCESS');
    for (const number of numbers) expect(creates(number)).toHaveLength(1);
    await system.end();
  });
});

describe('H211 a pause lasts until its end', () => {
  test.each(LEASE_CHANGES)('H211 although %s', async (_, change) => {
    const world = await scene();
    const { system, pass, pauseAndWait, resume, isPaused, creates, result } = world;
    await pauseAndWait();
    await change(system);
    await world.world.finish(system.start(1));
    await pass(10 * MINUTE);
    expect(creates(1)).toEqual([]);
    expect(await isPaused()).toBe(true);
    await resume();
    expect((await result(1)).outcome).toBe('SUCCESS');
    expect(creates(1)).toHaveLength(1);
    expect(world.world.violations).toEqual([]);
    await system.end();
  });
});

test('H210 a pause stops every process of the application, also one with its earlier app_id', async () => {
  const { system, world, pass, pause, resume } = await scene();
  const lease = (appId: string) => system.client.workflow.getHandle(leaseWorkflowId('test', appId));
  const isPaused = async (appId: string) => {
    const { memo } = await world.finish(lease(appId).describe());
    return settingsIn(memo).paused !== undefined;
  };
  const keeper = leaseKeeper(system.client, { environment: 'test', appId: 'another-app' }, APP, world);
  keeper.check();
  await pass(10 * SECOND);
  keeper.stop();
  await pause();
  expect([await isPaused('demo-app'), await isPaused('another-app')]).toEqual([true, true]);
  await resume();
  expect([await isPaused('demo-app'), await isPaused('another-app')]).toEqual([false, false]);
  await system.end();
});

test('H212 an approval given during a pause covers only its own terms afterwards', async () => {
  const { system, world, pass, pause, resume, state, result, control } = await scene();
  await pause();
  const limits = { maxPay: { currency: 'USD', amount: '1000.00' } };
  for (const number of [1, 2]) await world.finish(system.start(number, { approval: 'required', limits }));
  for (const number of [1, 2]) {
    while ((await state(number)).phase !== 'AWAITING_APPROVAL') await pass(SECOND);
    const tolerance = number === 2 ? '2' : '0';
    await world.finish(system.payouts.approve(refOf(number), { by: 'olga', tolerance }));
  }
  await pass(10 * MINUTE);
  for (const number of [1, 2]) expect((await state(number)).phase).toBe('PAUSED');
  control.changeSettings({ rates: { 'USD/CNY': '7.0000' } });
  await resume();
  await pass(2 * MINUTE);
  expect((await state(1)).phase).toBe('AWAITING_APPROVAL');
  expect((await result(2)).outcome).toBe('SUCCESS');
  await system.end();
});

test('H213 a paused application opens no receiving account', async () => {
  const { system, world, pass, pauseAndWait, resume, control } = await scene();
  const accounts = new ReceivingAccounts({ client: system.client, environment: 'test', clock: system.world });
  const request = { requestId: 'ra-1', payerId: 'payer-1', currency: 'USD' };
  await pauseAndWait();
  await world.finish(accounts.open(request));
  await pass(2 * HOUR);
  expect(await world.finish(accounts.state(request))).toMatchObject({
    phase: 'PAUSED',
    needsAttention: false,
  });
  expect(control.ledger().receivingAccounts).toEqual([]);
  await resume();
  expect((await world.finish(accounts.result(request), HOUR)).outcome).toBe('OPENED');
  expect(control.ledger().receivingAccounts).toHaveLength(1);
  await system.end();
});
