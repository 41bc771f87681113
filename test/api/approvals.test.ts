import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { payoutStateSchema } from '../../src/contract/payout-answers.ts';
import type { PayoutState } from '../../src/domain/payout.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { createsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;
let at: string;
const run = (...args: string[]) => cli(world.workerEnvironment, args);

beforeAll(async () => {
  // Long enough for a create on a busy machine, short enough for a test to wait until it ends.
  world = await VirtualWorld.start({ env: { PAYMENTS_LOCK_LIFETIME: '5s', PAYOUTS_APPROVAL_EXPIRES: '1h' } });
  service = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop'), callerEntry('desk')]),
  });
  at = `${service.url}/v1/payouts`;
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

const asked = (over: object = {}) =>
  payoutRequest(newPartnerOrderId(), { platform: 'sim:success', approval: 'required', ...over });

async function started(over: object = {}): Promise<string> {
  const body = asked(over);
  expect((await post(at, body, as('shop'))).status).toBe(202);
  return body.partnerOrderId;
}

const stateOf = async (id: string): Promise<PayoutState> =>
  z.object({ state: payoutStateSchema }).parse((await get(`${at}/${id}`, as('desk'))).body).state;

const until = (id: string, wanted: (state: PayoutState) => boolean): Promise<PayoutState> =>
  eventually(async () => {
    const state = await stateOf(id);
    return wanted(state) ? state : undefined;
  });
const waits = (id: string) => until(id, ({ phase }) => phase === 'AWAITING_APPROVAL');
const ends = (id: string) => until(id, ({ outcome }) => outcome !== undefined);
const approve = (id: string, who: string) => post(`${at}/${id}/approve`, '', as(who));
const ref = (partnerOrderId: string) => ({ partnerOrderId });

describe('a payout that requires approval', () => {
  test('waits, shows its quote and when lock and approval expire, and continues once approved', async () => {
    const id = await started();
    const { quote, lockExpiresAt = '', approvalExpiresAt = '', lastAskedAt = '' } = await waits(id);
    expect(quote?.target).toEqual({ currency: 'CNY', amount: '100.00' });
    expect(Date.parse(lockExpiresAt)).toBeGreaterThan(Date.parse(lastAskedAt));
    expect(Date.parse(approvalExpiresAt)).toBeGreaterThan(Date.parse(lockExpiresAt));
    const status = await run('status', id);
    expect(status.stdout).toMatch(/lock expires +\S+ \((\d+ s left|expired)\)/);
    expect(status.stdout).toContain(`for 100.00 CNY`);
    // What the Temporal UI shows above the history.
    const shown = await world.payouts.handle(ref(id)).query('__temporal_workflow_metadata');
    expect(JSON.stringify(shown)).toContain('The lock expires at');
    expect(createsOf(world, ref(id))).toEqual([]);
    expect((await approve(id, 'desk')).status).toBe(200);
    const { outcome, ...end } = await ends(id);
    expect(outcome).toBe('SUCCESS');
    expect(end).not.toHaveProperty('lockExpiresAt');
  });

  test('H51 rejects its starter as approver on every interface, and accepts another caller', async () => {
    const id = await started();
    await waits(id);
    expect((await approve(id, 'shop')).status).toBe(403);
    const byCli = await run('approve', id, '--by', 'Shop', '--json');
    expect(byCli.code).toBe(4);
    expect(byCli.json()).toMatchObject({ error: { message: expect.stringContaining('started') } });
    // As the Temporal UI sends it: by update name, unencrypted.
    const byUi = world.payouts.handle(ref(id)).executeUpdate('approve', { args: [{ by: ' shop ' }] });
    await expect(byUi).rejects.toMatchObject({ cause: { type: 'NotAcceptedNow' } });
    expect((await stateOf(id)).phase).toBe('AWAITING_APPROVAL');
    await world.payouts.handle(ref(id)).executeUpdate('approve', { args: [{ by: 'olga' }] });
    expect((await ends(id)).outcome).toBe('SUCCESS');
  });

  test('on the command line: rejects the --by that started it as approver; another approves or refuses', async () => {
    const [one, two] = [asked(), asked()];
    const begun = await cli(
      world.workerEnvironment,
      ['start', '-', '--by', 'olga'],
      JSON.stringify([one, two]),
    );
    expect(begun.code).toBe(0);
    await Promise.all([waits(one.partnerOrderId), waits(two.partnerOrderId)]);
    expect((await run('approve', one.partnerOrderId, '--by', 'olga')).code).toBe(4);
    expect((await run('approve', one.partnerOrderId, '--by', 'piet')).code).toBe(0);
    expect((await run('refuse', two.partnerOrderId, '--by', 'piet', '--note', 'no')).code).toBe(0);
    expect((await ends(one.partnerOrderId)).outcome).toBe('SUCCESS');
    expect((await ends(two.partnerOrderId)).reason?.code).toBe('APPROVAL_REFUSED');
  });

  test('requotes when approved after its lock expired; a price above the approved one requires another approval', async () => {
    const free = await started();
    const bounded = await started({ limits: { maxPay: { currency: 'USD', amount: '20.00' } } });
    const [first, second] = [await waits(free), await waits(bounded)];
    const over = Math.max(...[first, second].map(({ lockExpiresAt = '' }) => Date.parse(lockExpiresAt)));
    await eventually(() => Date.now() > over || undefined);
    const { rates } = world.simulator.control.settings();
    world.simulator.control.changeSettings({ rates: { ...rates, 'USD/CNY': '6.5000' } });
    try {
      for (const id of [free, bounded]) expect((await approve(id, 'desk')).status).toBe(200);
      // The caller's own limits bound the price, so this payout continues.
      const paid = await ends(bounded);
      expect(paid).toMatchObject({ outcome: 'SUCCESS', quote: { exchangeRate: '6.5000' } });
      expect(paid.quote?.lockRateId).not.toBe(second.quote?.lockRateId);
      // The approved price is the only bound of this one.
      const again = await until(
        free,
        ({ phase, quote }) => phase === 'AWAITING_APPROVAL' && quote?.lockRateId !== first.quote?.lockRateId,
      );
      expect(again.quote?.exchangeRate).toBe('6.5000');
      // A price that no approver has seen gets a full approval period.
      expect(Date.parse(again.approvalExpiresAt ?? '')).toBeGreaterThan(
        Date.parse(first.approvalExpiresAt ?? ''),
      );
      expect(createsOf(world, ref(free))).toEqual([]);
      expect((await approve(free, 'desk')).status).toBe(200);
      expect((await ends(free)).outcome).toBe('SUCCESS');
    } finally {
      world.simulator.control.changeSettings({ rates });
    }
  });

  test('a decision that names a quote counts for no later quote', async () => {
    const id = await started();
    const first = await waits(id);
    const seen = { lockRateId: first.quote?.lockRateId };
    expect((await run('status', id)).stdout).toMatch(new RegExp(`lock +${seen.lockRateId}`));
    const over = Date.parse(first.lockExpiresAt ?? '');
    await eventually(() => Date.now() > over || undefined);
    const { rates } = world.simulator.control.settings();
    world.simulator.control.changeSettings({ rates: { ...rates, 'USD/CNY': '6.4000' } });
    try {
      expect((await post(`${at}/${id}/approve`, seen, as('desk'))).status).toBe(200);
      const { quote } = await until(
        id,
        (state) => state.phase === 'AWAITING_APPROVAL' && state.quote?.lockRateId !== seen.lockRateId,
      );
      const current = quote?.lockRateId ?? '';
      // A repeat after a 503 returns the state, and approves nothing.
      const repeated = await post(`${at}/${id}/approve`, seen, as('desk'));
      expect(repeated).toMatchObject({ status: 200, body: { phase: 'AWAITING_APPROVAL' } });
      const refused = await post(`${at}/${id}/refuse`, seen, as('desk'));
      expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining(current) } });
      // The decisions of approvers who read the state before the requote.
      for (const verb of ['approve', 'refuse'] as const) {
        const flags = ['--by', 'piet', '--lock-rate-id', seen.lockRateId ?? ''];
        expect((await run(verb, id, ...flags)).code).toBe(4);
        const bySdk = world.payouts[verb](ref(id), { by: 'piet', ...seen });
        await expect(bySdk).rejects.toMatchObject({ cause: { type: 'NotAcceptedNow' } });
      }
      expect((await stateOf(id)).phase).toBe('AWAITING_APPROVAL');
      expect(createsOf(world, ref(id))).toEqual([]);
      expect((await run('approve', id, '--by', 'piet', '--lock-rate-id', current)).code).toBe(0);
      expect((await ends(id)).outcome).toBe('SUCCESS');
    } finally {
      world.simulator.control.changeSettings({ rates });
    }
  });
});

/** A payout that waits for `notBefore`, whose workers stopped before that time. */
async function scheduledWithoutWorkers(aheadMs = 3_000): Promise<{ due: string; notBefore: string }> {
  const notBefore = new Date(Date.now() + aheadMs).toISOString();
  const due = await started({ approval: 'none', notBefore });
  await until(due, ({ phase }) => phase === 'SCHEDULED' || Date.now() > Date.parse(notBefore));
  await world.stopWorkers();
  if (Date.now() < Date.parse(notBefore)) return { due, notBefore };
  // Stopping took longer than the wait on this machine.
  await world.startWorkers();
  return scheduledWithoutWorkers(2 * aheadMs);
}

describe('waiting payouts', () => {
  test('notBefore survives a restart of the workers; an approval expires as configured', async () => {
    const { due, notBefore } = await scheduledWithoutWorkers();
    await eventually(() => Date.now() > Date.parse(notBefore) || undefined);
    expect(createsOf(world, ref(due))).toEqual([]);
    await world.startWorkers({ PAYOUTS_APPROVAL_EXPIRES: '300ms' });
    const { outcome, createdAt = '' } = await ends(due);
    expect(outcome).toBe('SUCCESS');
    expect(createdAt >= notBefore).toBe(true);
    const forgotten = await started();
    expect((await ends(forgotten)).reason?.code).toBe('APPROVAL_EXPIRED');
    expect(createsOf(world, ref(forgotten))).toEqual([]);
  });

  test('cancel ends a wait for notBefore, over HTTP and on the command line', async () => {
    const notBefore = new Date(Date.now() + 3_600_000).toISOString();
    const ids = [await started({ notBefore }), await started({ notBefore })];
    const [first = '', second = ''] = ids;
    for (const id of ids) await until(id, ({ phase }) => phase === 'SCHEDULED');
    expect((await post(`${at}/${first}/cancel`, { reason: 'no' }, as('desk'))).status).toBe(200);
    expect((await run('cancel', second, '--by', 'piet')).code).toBe(0);
    for (const id of ids) expect((await ends(id)).reason?.code).toBe('CANCELLED');
  });
});
