/** What decides whether a create may be sent is set once for all processes, and no process acts on an older value. */
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { Pauses } from '../../src/client/leases.ts';
import { ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import {
  type SettingsChange,
  SettingsChangeError,
  SharedSettingsOf,
} from '../../src/client/shared-settings.ts';
import { NO_APPROVAL_POLICY } from '../../src/domain/permissions.ts';
import { RENEWAL_VALID_MS } from '../../src/domain/rate-limit.ts';
import { firstSettings } from '../../worlds/payouts/first-settings.ts';
import {
  PayoutWorld,
  type PayoutWorldOptions,
  partnerOrderIdOf,
  payoutRequest,
  refOf,
} from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';
import { snapshotOf } from '../../worlds/temporal/snapshot.ts';
import { LEASE_CHANGES, leaseOwner } from './lease-changes.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The longest way of a request to the provider in these worlds. */
const TRIP_MS = 20;
const APP = 'default';
const BY = { by: 'olga', reason: 'a drill' };
const ABOVE_50 = { above: { CNY: '50.00' }, callers: {} };
const FIRST = { ...BY, recoveredAt: null, approvals: NO_APPROVAL_POLICY };

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

/** A world with a lease owner, and what the tests do with it. */
async function scene(options: Partial<PayoutWorldOptions> = {}) {
  const system = new PayoutWorld({ workflows, seed: 1, workers: 2, ...options });
  const { world, client, payouts, provider, server } = system;
  // Core may drop the first attempt.
  system.service.queryAttempts = 30;
  const settings = new SharedSettingsOf(client, 'test');
  const pass = (ms: number) => world.run({ withinMs: ms });
  await pass(10 * SECOND);
  const state = (number: number) => world.finish(payouts.state(refOf(number)));
  return {
    ...{ system, world, server, pass, state, control: provider.control },
    set: (change: Partial<SettingsChange>) => world.finish(settings.change({ ...BY, ...change })),
    list: () => world.finish(settings.list()),
    until: async (number: number, phase: string) => {
      while ((await state(number)).phase !== phase) await pass(SECOND);
    },
    approve: (number: number) => world.finish(payouts.approve(refOf(number), { by: 'olga' })),
    result: (number: number) => world.finish(payouts.result(refOf(number)), 4 * HOUR),
    owner: () => leaseOwner(system),
    /** When each create call of these payouts arrived. */
    creates: (...numbers: readonly number[]) =>
      numbers.flatMap((number) =>
        provider.control.ledgerOf(partnerOrderIdOf(number)).creates.map(({ atMs }) => atMs),
      ),
    debits: (number: number) => provider.control.ledgerOf(partnerOrderIdOf(number)).debits,
  };
}

describe('H250 an application whose shared settings nobody has set creates nothing', () => {
  test('H250 payouts and receiving accounts wait, say so, and continue once they are set', async () => {
    const { system, world, pass, set, state, result, creates, control } = await scene({ shared: null });
    const accounts = new ReceivingAccounts({
      client: system.client,
      environment: 'test',
      clock: system.world,
    });
    const request = { requestId: 'ra-1', payerId: 'payer-1', currency: 'USD' };
    const pauses = new Pauses({ client: system.client, environment: 'test' });
    await world.finish(system.start(1));
    await world.finish(accounts.open(request));
    await pass(HOUR);
    expect((await state(1)).phase).toBe('PAUSED');
    const paused = { by: 'durable payouts', reason: expect.stringContaining('payouts settings') };
    expect(await world.finish(pauses.state(APP))).toMatchObject({ paused });
    // The end of a pause is not enough.
    expect(await world.finish(pauses.resume(APP, { by: 'olga' }))).toMatchObject({ paused });
    await pass(HOUR);
    expect([creates(1), control.ledger().receivingAccounts]).toEqual([[], []]);
    await expect(set({ approvals: NO_APPROVAL_POLICY })).rejects.toBeInstanceOf(SettingsChangeError);
    expect(await set(FIRST)).toMatchObject([{ app: APP, shared: { version: 1, by: 'olga' } }]);
    expect((await result(1)).outcome).toBe('SUCCESS');
    expect((await world.finish(accounts.result(request), HOUR)).outcome).toBe('OPENED');
    expect(creates(1)).toHaveLength(1);
    expect(world.violations).toEqual([]);
    await system.end();
  });

  test('H250 a payout that could end without an order waits: nobody knows what Temporal has lost', async () => {
    const env = { PAYOUTS_APPROVAL_EXPIRES: '10m' };
    const { system, world, pass, set, state, until, result } = await scene({ shared: null, env });
    await world.finish(system.start(1, { approval: 'required' }));
    await until(1, 'AWAITING_APPROVAL');
    await pass(HOUR);
    expect((await state(1)).phase).not.toBe('DONE');
    await set(FIRST);
    expect((await result(1)).reason?.code).toBe('APPROVAL_EXPIRED');
    await system.end();
  });
});

describe('H251 an approval policy counts for every create that is sent after it was set', () => {
  test('H251 payouts that run already ask for the approval; those that need none are paid', async () => {
    const { system, world, pass, set, until, approve, result, creates } = await scene();
    const soon = { notBefore: new Date(world.wallMs() + 2 * MINUTE).toISOString() };
    const small = { instructedAmount: { currency: 'CNY', amount: '50.00' } };
    await world.finish(system.start(1, soon));
    await world.finish(system.start(2, { ...soon, ...small }));
    await until(1, 'SCHEDULED');
    await set({ approvals: ABOVE_50 });
    expect((await result(2)).outcome).toBe('SUCCESS');
    await until(1, 'AWAITING_APPROVAL');
    await pass(HOUR);
    expect(creates(1)).toEqual([]);
    await approve(1);
    expect((await result(1)).outcome).toBe('SUCCESS');
    expect(creates(1)).toHaveLength(1);
    expect(world.violations).toEqual([]);
    await system.end();
  });

  test('H251 the limit of a caller counts for the payouts that it started', async () => {
    const { system, world, set, until, result } = await scene();
    const soon = { notBefore: new Date(world.wallMs() + 2 * MINUTE).toISOString() };
    for (const [number, startedBy] of [
      [1, 'shop'],
      [2, 'market'],
    ] as const)
      await world.finish(system.payouts.start(payoutRequest(number, soon), { startedBy }));
    await until(1, 'SCHEDULED');
    await set({ approvals: { callers: { shop: { CNY: '20.00' } } } });
    expect((await result(2)).outcome).toBe('SUCCESS');
    await until(1, 'AWAITING_APPROVAL');
    await system.end();
  });

  test('H251 an owner that is cut off sends nothing with the policy that it had', async () => {
    const { system, world, pass, set, owner, creates } = await scene();
    const numbers = Array.from({ length: 12 }, (_, at) => at + 1);
    for (const number of numbers) await world.finish(system.start(number));
    const cut = owner();
    if (!cut) throw new Error('no owner');
    cut.cutOff = true;
    await set({ approvals: ABOVE_50 });
    const setAtMs = world.now;
    await pass(MINUTE);
    cut.cutOff = false;
    await pass(10 * MINUTE);
    for (const atMs of creates(...numbers)) expect(atMs).toBeLessThan(setAtMs + RENEWAL_VALID_MS + TRIP_MS);
    expect(creates(...numbers).length).toBeLessThan(numbers.length);
    expect(world.violations).toEqual([]);
    await system.end();
  });
});

describe('H252 the time of a recovery counts for every process at once', () => {
  test('H252 payouts from before it send nothing after it was set, without a restart of any worker', async () => {
    const { system, world, pass, set, state, until, creates } = await scene();
    const soon = { notBefore: new Date(world.wallMs() + 2 * MINUTE).toISOString() };
    await world.finish(system.start(1, soon));
    await until(1, 'SCHEDULED');
    await set({ recoveredAt: 'now' });
    await pass(HOUR);
    expect((await state(1)).phase).toBe('NEEDS_REVIEW');
    expect(creates(1)).toEqual([]);
    await system.end();
  });
});

describe('H253 a namespace fails over while nobody watches', () => {
  test.each([1, 2])('H253 a payout whose end it lost is not sent again, seed %i', async (seed) => {
    const { system, world, pass, until, state, result, creates, debits, list, server } = await scene({
      seed,
    });
    const soon = { notBefore: new Date(world.wallMs() + 20 * SECOND).toISOString() };
    await world.finish(system.start(1, soon));
    await world.finish(system.start(2, { notBefore: new Date(world.wallMs() + 10 * MINUTE).toISOString() }));
    await until(1, 'SCHEDULED');
    const snapshot = snapshotOf(server);
    while (debits(1) === 0) await pass(SECOND);
    system.failOver(snapshot);
    await pass(20 * MINUTE);
    expect([creates(1).length, creates(2).length]).toEqual([1, 0]);
    expect((await state(1)).phase).toBe('PAUSED');
    expect(await list()).toMatchObject([{ hasFailedOver: true }]);
    await world.finish(system.setRecovered());
    expect((await result(1)).outcome).toBe('SUCCESS');
    expect(creates(1)).toHaveLength(1);
    await until(2, 'NEEDS_REVIEW');
    expect(world.violations).toEqual([]);
    await system.end();
  });

  test('H253 nothing is written in the term that began before the failover', async () => {
    const { system, world, pass, creates, server } = await scene();
    const numbers = Array.from({ length: 12 }, (_, at) => at + 1);
    await Promise.all(numbers.map((number) => world.finish(system.start(number))));
    while (creates(...numbers).length === 0) await pass(10);
    server.failoverVersion += 10;
    const failedOverAtMs = world.now;
    await pass(10 * MINUTE);
    for (const atMs of creates(...numbers)) expect(atMs).toBeLessThan(failedOverAtMs + 2 * TRIP_MS);
    expect(creates(...numbers).length).toBeLessThan(numbers.length);
    expect(world.violations).toEqual([]);
    await system.end();
  });

  test('H253 a change of another setting does not bring the old time of the last loss into force', async () => {
    const { system, server, set, list } = await scene();
    server.failoverVersion += 10;
    const earlier = new Date(0).toISOString();
    for (const change of [
      { approvals: ABOVE_50 },
      { recoveredAt: null, approvals: ABOVE_50 },
      { recoveredAt: earlier, approvals: ABOVE_50 },
    ])
      await expect(set(change)).rejects.toThrow(SettingsChangeError);
    expect(await list()).toMatchObject([{ hasFailedOver: true, shared: { recoveredAt: null } }]);
    await set({ recoveredAt: 'now' });
    await set({ approvals: ABOVE_50 });
    const [one] = await list();
    expect(one).toMatchObject({ hasFailedOver: false, shared: { approvals: ABOVE_50 } });
    server.failoverVersion += 10;
    await set({ recoveredAt: 'unchanged' });
    const shared = { recoveredAt: one?.shared?.recoveredAt };
    expect(await list()).toMatchObject([{ hasFailedOver: false, shared }]);
    await system.end();
  });

  test('H253 a payout that it took back to before its end does not end without its order', async () => {
    const env = { PAYOUTS_APPROVAL_EXPIRES: '10m' };
    const { system, world, pass, until, approve, state, result, debits, server } = await scene({ env });
    await world.finish(system.start(1, { approval: 'required' }));
    await until(1, 'AWAITING_APPROVAL');
    const snapshot = snapshotOf(server);
    await approve(1);
    while (debits(1) === 0) await pass(SECOND);
    system.failOver(snapshot);
    await pass(HOUR);
    expect((await state(1)).phase).not.toBe('DONE');
    await world.finish(system.setRecovered());
    expect((await result(1)).outcome).toBe('SUCCESS');
    await system.end();
  });
});

describe('H254 the shared settings last', () => {
  test.each(LEASE_CHANGES)('H254 although %s', async (_, change) => {
    const world = await scene();
    const { system, pass, set, until, creates, list } = world;
    await set({ approvals: ABOVE_50 });
    await pass(5 * SECOND);
    await change(system);
    await world.world.finish(system.start(1));
    await until(1, 'AWAITING_APPROVAL');
    await pass(MINUTE);
    expect(creates(1)).toEqual([]);
    expect(await list()).toMatchObject([{ shared: { version: 2 }, inForce: 2 }]);
    expect(world.world.violations).toEqual([]);
    await system.end();
  });

  test('H254 and a pause outlasts a change of them', async () => {
    const { system, world, set } = await scene();
    const pauses = new Pauses({ client: system.client, environment: 'test' });
    const isPaused = async () => (await world.finish(pauses.state(APP))).paused?.by;
    await world.finish(pauses.pause(APP, { by: 'olga' }));
    await set({ approvals: ABOVE_50 });
    expect(await isPaused()).toBe('olga');
    await system.end();
  });
});

test('H254 the first settings can be set before any worker, and --first changes nothing later', async () => {
  const { system, world, list } = await scene({ idle: true, shared: null });
  const settings = new SharedSettingsOf(system.client, 'test');
  await world.finish(settings.changeOne(APP, 'demo-app', FIRST, true));
  await world.finish(settings.changeOne(APP, 'demo-app', { ...FIRST, approvals: ABOVE_50 }, true));
  await world.run({ withinMs: 10 * SECOND });
  expect(await list()).toMatchObject([
    { shared: { ...firstSettings(expect.any(String)), by: 'olga', reason: 'a drill' } },
  ]);
  await system.end();
});
