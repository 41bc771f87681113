import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Allowances } from '../../src/client/allowances.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { renewUpdate, tokenStateQuery } from '../../src/contract/workflows.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { createsOf, debitsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { WorkerProcesses } from '../support/workers.ts';

const OPERATIONS = ['accountQuery', 'fee', 'createCnyOrder', 'queryResult', 'queryPayDetail'] as const;

interface Held {
  ref: PayoutRef;
  release(): void;
  name: string;
}

describe('H6 H1 a worker is killed with SIGKILL during calls of every kind, and another one starts', () => {
  let world: PayoutWorld;
  let workers: WorkerProcesses;
  let allowances: Allowances;
  const payouts: Held[] = [];

  beforeAll(async () => {
    world = await PayoutWorld.start({
      idle: true,
      env: {
        PAYMENTS_CALL_TIMEOUT: '2m',
        PAYOUTS_CONFIRMATION_WINDOW: '30s',
        PAYOUTS_TOKEN_KEYS: newKey('t1'),
      },
    });
    allowances = new Allowances(world.client, 'test', PROCESS_RUNTIME.clock);
    workers = new WorkerProcesses(world);
    const killed = await workers.start();
    for (const operation of OPERATIONS)
      for (const effect of ['before', 'after'] as const) payouts.push(await held(operation, effect));
    await reserve(3);
    const renewal = world.hold({ operation: 'token', times: 1 }, 'after');
    await token().startUpdate(renewUpdate, { waitForStage: 'ACCEPTED' });
    await eventually(renewal.arrived);
    await killed.stop('SIGKILL');
    for (const { release } of [...payouts, renewal]) release();
    await workers.start();
  });
  afterAll(async () => {
    await workers.end();
    await world.stop();
  });

  /** A payout whose `operation` is held, before or after its effect at the provider. */
  async function held(operation: (typeof OPERATIONS)[number], effect: 'before' | 'after'): Promise<Held> {
    const partnerOrderId = newPartnerOrderId();
    const named = operation !== 'accountQuery' && operation !== 'fee';
    const { arrived, release } = world.hold(
      { operation, times: 1, ...(named && { partnerOrderId }) },
      effect,
    );
    // Each has its own client, whose account no other payout has queried.
    const ref = await world.pay('success', { partnerOrderId, clientId: partnerOrderId });
    await eventually(arrived);
    return { ref, release, name: `${operation}, ${effect} the effect` };
  }

  function reserve(count: number) {
    const row = { app: 'default', approval: 'none' as const };
    const rows = Array.from({ length: count }, () => ({ ...payoutRequest(newPartnerOrderId()), ...row }));
    return allowances.reserve('shop', { dailyCount: 5 }, rows);
  }

  const token = () => world.client.workflow.getHandle(tokenWorkflowId('default'));

  test('H6 before and after every request: exactly one payment each, and one POST', async () => {
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
    await expect(reserve(3)).rejects.toThrow('3 are reserved, and 3 more are requested');
    await reserve(2);
    expect((await allowances.state('shop')).count).toBe(5);
  });

  test('H42 the next attempt gets an application token', async () => {
    const renewed = async () => {
      const seen = await token()
        .query(tokenStateQuery)
        .catch(() => undefined);
      return seen?.renewals === 2 ? seen : undefined;
    };
    expect(await eventually(renewed)).toMatchObject({ needsAttention: false });
  });
});
