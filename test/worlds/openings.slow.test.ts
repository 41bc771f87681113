import { beforeAll, describe, expect, inject, test } from 'vitest';
import { ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import { fastTrip, PayoutWorld } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';
import { EventType } from '../../worlds/temporal/history.ts';
import { snapshotOf } from '../../worlds/temporal/snapshot.ts';

const request = { requestId: 'ra-1', payerId: 'payer-1', currency: 'USD' };
const accountsOf = ({ client, world }: PayoutWorld) =>
  new ReceivingAccounts({ client, environment: 'test', clock: world });

const MINUTE_MS = 60_000;

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

test('H137 an opening that is canceled during review can still be resolved with the existing account', async () => {
  const system = new PayoutWorld({ workflows, seed: 1 });
  const { world, provider } = system;
  const accounts = accountsOf(system);
  const fault = { kind: 'drop-after' } as const;
  provider.control.addFault({ operation: 'receivingAccountCreate', times: 1, fault });
  await world.finish(accounts.open(request));
  await world.run({ withinMs: 60_000 });
  expect((await world.finish(accounts.state(request))).phase).toBe('NEEDS_REVIEW');
  await world.finish(accounts.handle(request).cancel());
  await world.run({ withinMs: 1_000 });
  const [account] = provider.control.ledger().receivingAccounts;
  const accountId = account?.accountId ?? '';
  const resolved = accounts.resolve(request, { by: 'olga', created: true, accountId });
  expect(await world.finish(resolved)).toMatchObject({ phase: 'DONE', outcome: 'OPENED', accountId });
  expect(world.violations).toEqual([]);
});

describe('H53 Temporal is restored to before an account was opened', () => {
  /** The list of accounts is slow: Temporal is restored to a time during that call. */
  async function openedAndForgotten(system: PayoutWorld, isThere: boolean) {
    const { world, server, provider } = system;
    const accounts = accountsOf(system);
    const nothing = snapshotOf(server);
    const latency = { kind: 'latency', ms: 3_000 } as const;
    provider.control.addFault({ operation: 'receivingAccountBalance', times: 1, fault: latency });
    await world.finish(accounts.open(request));
    await world.run({ withinMs: 1_000 });
    const checking = snapshotOf(server);
    expect((await world.finish(accounts.result(request))).outcome).toBe('OPENED');
    system.restore(isThere ? checking : nothing);
    const [account] = provider.control.ledger().receivingAccounts;
    return { accounts, accountId: account?.accountId ?? '' };
  }

  async function reviewed(
    { world }: PayoutWorld,
    accounts: ReceivingAccounts,
  ): Promise<string[] | undefined> {
    await world.run({ withinMs: 15 * 60_000 });
    const { phase, candidates } = await world.finish(accounts.state(request));
    expect(phase).toBe('NEEDS_REVIEW');
    return candidates;
  }

  test('a request that still runs: it sends nothing, and a person names the account', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, provider } = system;
    const { accounts, accountId } = await openedAndForgotten(system, true);
    expect(await reviewed(system, accounts)).toEqual([accountId]);
    await world.finish(accounts.resolve(request, { by: 'olga', created: true, accountId }));
    expect(await world.finish(accounts.result(request))).toMatchObject({ outcome: 'OPENED', accountId });
    expect(provider.control.ledger().receivingAccounts).toHaveLength(1);
  });

  test('a running request that is canceled: it is not reported as not opened', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world } = system;
    const { accounts, accountId } = await openedAndForgotten(system, true);
    await world.finish(accounts.handle(request).cancel());
    expect(await reviewed(system, accounts)).toEqual([accountId]);
  });

  test('a request that no worker takes until long after the restore: it sends nothing', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, server, provider, processes } = system;
    const accounts = accountsOf(system);
    await world.finish(accounts.open(request));
    system.restore(snapshotOf(server));
    for (const process of processes) process.kill();
    await world.run({ withinMs: 30 * MINUTE_MS });
    for (const process of processes) process.start();
    expect(await reviewed(system, accounts)).toEqual([]);
    expect(provider.control.ledger().receivingAccounts).toEqual([]);
  });

  test('a forgotten request that is made again: the same', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, provider } = system;
    const { accounts, accountId } = await openedAndForgotten(system, false);
    await world.finish(accounts.open(request));
    expect(await reviewed(system, accounts)).toEqual([accountId]);
    expect(provider.control.ledger().receivingAccounts).toHaveLength(1);
  });

  test.each([
    ['soon after it, once the confirmation window has passed', 0, [10, 14]],
    ['later, at once', 13, [0, 1]],
  ] as const)(
    'a payer without an account in this currency requires no person: %s',
    async (_when, afterMinutes, [least, most]) => {
      const system = new PayoutWorld({ workflows, seed: 1 });
      const { world } = system;
      const { accounts } = await openedAndForgotten(system, false);
      await world.run({ withinMs: afterMinutes * MINUTE_MS });
      const other = { ...request, requestId: 'ra-2', currency: 'EUR' };
      await world.finish(accounts.open(other));
      const askedAt = world.now;
      expect((await world.finish(accounts.result(other))).outcome).toBe('OPENED');
      const minutes = (world.now - askedAt) / MINUTE_MS;
      expect([minutes >= least, minutes <= most]).toEqual([true, true]);
    },
  );

  test('a person finds that none was opened: it is sent once', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, server, provider } = system;
    const accounts = accountsOf(system);
    const latency = { kind: 'latency', ms: 3_000 } as const;
    provider.control.addFault({ operation: 'receivingAccountBalance', times: 1, fault: latency });
    await world.finish(accounts.open(request));
    await world.run({ withinMs: 1_000 });
    system.restore(snapshotOf(server));
    expect(await reviewed(system, accounts)).toEqual([]);
    await world.finish(accounts.resolve(request, { by: 'olga', created: false, then: 'retry' }));
    expect((await world.finish(accounts.result(request))).outcome).toBe('OPENED');
    expect(provider.control.ledger().receivingAccounts).toHaveLength(1);
  });
});

describe('H192 a run whose request another run has sent, and whose worker dies before it can say so', () => {
  /** Kills every worker when it takes the request, once. */
  function killAtSend({ server, processes, world }: PayoutWorld): void {
    let isOver = false;
    server.onDispatch.push(({ attributes: { activityType } }) => {
      if (isOver || activityType !== 'openReceivingAccount') return;
      isOver = true;
      for (const process of processes) process.kill();
      world.after(20_000, () => {
        for (const process of processes) process.start();
      });
    });
  }

  async function resolvesToTheAccount(system: PayoutWorld, accounts: ReceivingAccounts): Promise<void> {
    const { world, provider } = system;
    killAtSend(system);
    await world.run({ withinMs: 15 * MINUTE_MS });
    const [account] = provider.control.ledger().receivingAccounts;
    const accountId = account?.accountId ?? '';
    const { phase, candidates } = await world.finish(accounts.state(request));
    expect({ phase, candidates }).toEqual({ phase: 'NEEDS_REVIEW', candidates: [accountId] });
    const resolved = accounts.resolve(request, { by: 'olga', created: true, accountId });
    expect(await world.finish(resolved)).toMatchObject({ phase: 'DONE', outcome: 'OPENED', accountId });
    expect(provider.control.ledger().receivingAccounts).toHaveLength(1);
    expect(world.violations).toEqual([]);
  }

  test('H53 after a restore, the account of the lost run can be named', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, server } = system;
    const accounts = accountsOf(system);
    await world.finish(accounts.open(request));
    const started = snapshotOf(server);
    expect((await world.finish(accounts.result(request))).outcome).toBe('OPENED');
    system.restore(started);
    await resolvesToTheAccount(system, accounts);
  });

  test('H6 after a Workflow Reset, the account of the earlier run can be named', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, server } = system;
    const accounts = accountsOf(system);
    const { workflowId } = await world.finish(accounts.open(request));
    expect((await world.finish(accounts.result(request))).outcome).toBe('OPENED');
    const run = server.latest(workflowId);
    const first = run?.entries.find(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    if (run) server.reset(run, first?.id ?? 0, 'a try');
    await resolvesToTheAccount(system, accounts);
  });

  test('H53 the same if the restored run had tried in vain to send', async () => {
    let isRefused = false;
    const system = new PayoutWorld({
      ...{ workflows, seed: 1 },
      trip: (world) => ({ ...fastTrip(world), fate: isRefused ? 'refused' : 'arrives' }),
    });
    const { world, server } = system;
    server.onDispatch.push(({ attributes: { activityType } }) => {
      isRefused ||= activityType === 'openReceivingAccount';
    });
    const accounts = accountsOf(system);
    await world.finish(accounts.open(request));
    await world.run({ done: () => isRefused, withinMs: MINUTE_MS });
    await world.run({ withinMs: 900 });
    const paused = snapshotOf(server);
    server.onDispatch.pop();
    isRefused = false;
    expect((await world.finish(accounts.result(request))).outcome).toBe('OPENED');
    system.restore(paused);
    await resolvesToTheAccount(system, accounts);
  });

  test('the accounts that the payer had before the only send stay excluded', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, provider } = system;
    const accounts = accountsOf(system);
    await world.finish(accounts.open({ ...request, requestId: 'ra-0' }));
    const { accountId = '' } = await world.finish(accounts.result({ requestId: 'ra-0' }));
    killAtSend(system);
    await world.finish(accounts.open(request));
    await world.run({ withinMs: 15 * MINUTE_MS });
    const { phase, candidates } = await world.finish(accounts.state(request));
    expect({ phase, candidates }).toEqual({ phase: 'NEEDS_REVIEW', candidates: [] });
    const resolved = world.finish(accounts.resolve(request, { by: 'olga', created: true, accountId }));
    await expect(resolved).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/existed before the request/) },
    });
    expect(provider.control.ledger().receivingAccounts).toHaveLength(1);
  });
});
