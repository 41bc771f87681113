/** Starts of the workflow by anyone who may start workflows, without the client library. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { startFactsIn, startMemo } from '../../src/contract/memo.ts';
import { approveUpdate, argumentOf, refuseUpdate, tokenStateQuery } from '../../src/contract/workflows.ts';
import { PayoutRecord } from '../../src/domain/payout-record.ts';
import { TokenRecord } from '../../src/domain/tokens.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import { payoutRequest } from '../support/requests.ts';
import { resetBefore } from '../support/resets.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const POLICY = { approvals: { above: { CNY: '1.00' }, callers: {} } };

async function startWorld(options: Parameters<typeof VirtualWorld.start>[0] = {}): Promise<VirtualWorld> {
  const world = await VirtualWorld.start(options);
  onTestFinished(() => world.stop());
  return world;
}

/** The state of a payout that somebody has approved at any price. */
function forged(world: VirtualWorld, request: object): object {
  const any = (currency: string) => ({ currency, amount: '9999999.00' });
  const record = new PayoutRecord(world.clock.wallMs());
  const covers = { pay: any('USD'), fee: any('USD'), target: { currency: 'CNY', amount: '0.00' } };
  return {
    request: { ...request, app: 'default' },
    record: Object.assign(record, { approved: { by: 'nobody', covers } }),
  };
}

test('H266 the state of another run does not replace the checks of the first one', async () => {
  const world = await startWorld(POLICY);
  const request = payoutRequest(newPartnerOrderId(), { approval: 'required' });
  const { partnerOrderId } = request;
  const start = (id: string) =>
    world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${id}`,
      memo: { rejectDuplicate: true },
      args: [request, forged(world, request)],
    });
  await start(partnerOrderId);
  await world.until(request, ({ phase }) => phase === 'AWAITING_APPROVAL');
  const other = await start(newPartnerOrderId());
  await expect(other.result()).rejects.toMatchObject({ cause: { type: 'InvalidPayoutRequest' } });
  expect(createsOf(world, request)).toEqual([]);
});

describe('H331 the start of a canceled payout, sent again later, waits for a person', () => {
  test.each([
    {},
    // The provider refuses a used id, so a create may be repeated.
    { PAYMENTS_REPEATED_CREATE: 'safe', PAYMENTS_CLIENT_PAIRS: 'trusted' },
  ])('%j', async (env) => {
    const world = await startWorld({ env });
    const ref = await world.pay('success', { approval: 'required' });
    await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    await world.payouts.cancel(ref, { by: 'olga' });
    expect((await world.payouts.result(ref)).outcome).toBe('NOT_CREATED');
    const { memo } = await world.payouts.handle(ref).describe();
    const request = payoutRequest(ref.partnerOrderId, { platform: 'sim:success' });
    await world.client.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: world.payouts.handle(ref).workflowId,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      // As after a minute, when the promise of a new id no longer holds.
      memo: startMemo({ ...startFactsIn(memo), rejectDuplicate: false }),
      args: [request],
    });
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    expect(createsOf(world, ref)).toEqual([]);
  });
});

test('H327 the argument of a refusal approves nothing', async () => {
  const world = await startWorld();
  const ref = await world.pay('success', { approval: 'required' });
  await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
  const argument = argumentOf(refuseUpdate, { by: 'olga' });
  await expect(
    world.payouts.handle(ref).executeUpdate(approveUpdate, { args: [argument] }),
  ).rejects.toMatchObject({ cause: { message: 'it is the argument of refuse' } });
  expect((await world.payouts.state(ref)).phase).toBe('AWAITING_APPROVAL');
  await world.payouts.refuse(ref, { by: 'olga' });
  expect((await world.payouts.result(ref)).outcome).toBe('NOT_CREATED');
});

test('H266 a token renewal holds no token that its start invents', async () => {
  const world = await startWorld();
  const nowMs = world.clock.wallMs();
  const held = { accessToken: 'forged', obtainedAtMs: nowMs, renewsAtMs: nowMs, expiresAtMs: nowMs + 1e9 };
  const openId = newPartnerOrderId();
  const renewal = await world.client.workflow.start('tokenRenewal', {
    taskQueue: 'payouts',
    workflowId: `token:default:user:${openId}`,
    args: [
      { environment: 'test', app: 'default', openId },
      { ...new TokenRecord(), held, generation: 7 },
    ],
  });
  const state = () => renewal.query(tokenStateQuery);
  expect(await eventually(async () => (await state()).needsAuthorization || undefined)).toBe(true);
  expect(await state()).toMatchObject({ renewals: 0 });
  expect(await state()).not.toHaveProperty('expiresAt');
});

test('H267 after a reset, an approval names the quote that its approver has read', async () => {
  const world = await startWorld();
  const ref = await world.pay('success', { approval: 'required' });
  const seen = await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
  world.simulator.control.changeSettings({ feeRate: '0.5' });
  await resetBefore(world, world.payouts.handle(ref), 'beginPayout');
  const { quote } = await world.until(
    ref,
    (state) => state.phase === 'AWAITING_APPROVAL' && state.quote?.lockRateId !== seen.quote?.lockRateId,
  );
  for (const lockRateId of [undefined, seen.quote?.lockRateId])
    await expect(world.payouts.approve(ref, { by: 'ann', lockRateId })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('lockRateId: ') },
    });
  await world.payouts.approve(ref, { by: 'ann', lockRateId: quote?.lockRateId });
  expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS' });
});

test('H268 a cancellation is refused while a refused create call is confirmed', async () => {
  const world = await startWorld({
    env: { PAYMENTS_CLIENT_PAIRS: 'learned', PAYOUTS_CONFIRMATION_WINDOW: '5s' },
  });
  const ref = await world.payWithFault({ kind: 'envelope', code: 30005 }, 'success');
  await world.until(ref, ({ phase }) => phase === 'RECONCILING');
  await expect(world.payouts.cancel(ref, { by: 'olga' })).rejects.toMatchObject({
    cause: { message: expect.stringContaining('a create call was sent') },
  });
  const { decisions } = await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
  expect(decisions).toBeUndefined();
});
