import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Allowances } from '../../src/client/allowances.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const OPERATIONS = ['accountQuery', 'fee', 'createCnyOrder', 'queryResult', 'queryPayDetail'] as const;

describe('H6 H1 a worker is killed with SIGKILL during a call', () => {
  let world: PayoutWorld;
  let worker: OwnProcess | undefined;
  beforeAll(async () => {
    world = await PayoutWorld.start({
      idle: true,
      env: { PAYMENTS_CALL_TIMEOUT: '2m', PAYOUTS_CONFIRMATION_WINDOW: '30s' },
    });
    worker = await startWorker();
  });
  afterAll(async () => {
    await worker?.stop('SIGKILL');
    await world.stop();
  });

  const startWorker = () => startProgram('src/workers/main.ts', world.workerEnvironment, /worker ready/);

  /** A payout whose `operation` is held, before or after its effect at the provider. */
  async function held(operation: (typeof OPERATIONS)[number], effect: 'before' | 'after') {
    const partnerOrderId = newPartnerOrderId();
    const named = operation !== 'accountQuery' && operation !== 'fee';
    const before = world.simulator.control.calls().length;
    const rule = await world.simulator.control.addFault({
      operation,
      times: 1,
      ...(named && { partnerOrderId }),
      fault: { kind: 'hold-until-released', effect },
    });
    // Each has its own client, whose account no other payout has queried.
    const ref = await world.pay('success', { partnerOrderId, clientId: partnerOrderId });
    await eventually(
      () =>
        world.simulator.control
          .calls()
          .slice(before)
          .some((call) => call.fault !== null) || undefined,
    );
    return { ref, rule, name: `${operation}, ${effect} the effect` };
  }

  test('before and after every request: exactly one payment each, and one POST', async () => {
    const payouts: { ref: PayoutRef; rule: { id: string }; name: string }[] = [];
    for (const operation of OPERATIONS)
      for (const effect of ['before', 'after'] as const) payouts.push(await held(operation, effect));
    await worker?.stop('SIGKILL');
    for (const { rule } of payouts) await world.simulator.control.releaseFault(rule.id);
    worker = await startWorker();
    const ends = await Promise.all(payouts.map(({ ref }) => world.payouts.result(ref)));
    const told = payouts.map(({ ref, name }, at) => ({
      name,
      outcome: ends[at]?.outcome,
      debits: debitsOf(world, ref),
      posts: createsOf(world, ref).length,
    }));
    expect(told).toEqual(payouts.map(({ name }) => ({ name, outcome: 'SUCCESS', debits: 1, posts: 1 })));
  });

  test('H178 the daily limit of a caller survives the kill', async () => {
    const allowances = new Allowances(world.client, 'test', PROCESS_SURROUNDINGS.clock);
    const reserve = (count: number) => {
      const row = { app: 'default', approval: 'none' as const };
      const rows = Array.from({ length: count }, () => ({ ...payoutRequest(newPartnerOrderId()), ...row }));
      return allowances.reserve('shop', { dailyCount: 5 }, rows);
    };
    await reserve(3);
    await worker?.stop('SIGKILL');
    worker = await startWorker();
    await expect(reserve(3)).rejects.toThrow('3 are reserved, and 3 more are requested');
    await reserve(2);
    expect((await allowances.state('shop')).count).toBe(5);
  });

  test('a worker that receives SIGTERM finishes a create in flight', async () => {
    const { ref, rule } = await held('createCnyOrder', 'before');
    const stopped = worker?.stop('SIGTERM');
    await world.simulator.control.releaseFault(rule.id);
    expect(await stopped).toBe(0);
    worker = await startWorker();
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect((await world.payouts.state(ref)).reasons).toEqual([]);
    expect(createsOf(world, ref).length).toBe(1);
  });
});

describe('a worker with invalid settings exits with the reason', () => {
  test('names every bad variable, and exits 1', async () => {
    const failed = startProgram('src/workers/main.ts', { PAYMENTS_ENVIRONMENT: 'staging' }, /worker ready/);
    await expect(failed).rejects.toThrow(
      /PAYMENTS_ENVIRONMENT[\s\S]*PAYMENTS_BASE_URL[\s\S]*PAYMENTS_APP_ID/,
    );
  });
});
