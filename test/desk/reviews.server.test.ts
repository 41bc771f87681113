/** A person decides on the desk whether the order of a payout exists, in a real browser without JavaScript. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { DeskStage, textOf } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { createsOf } from '../support/ledger.ts';
import { NO_POLLS } from '../support/test-world.ts';

let stage: DeskStage;
beforeAll(async () => {
  // The confirmation window is as short as the deadline of the create, and no poll repeats a query.
  const env = { ...NO_POLLS, PAYMENTS_CALL_TIMEOUT: '3s', PAYOUTS_CONFIRMATION_WINDOW: '1ms' };
  stage = await DeskStage.start({ env });
});
afterAll(() => stage?.stop());

const pathOf = ({ partnerOrderId }: PayoutRef) => `/desk/payout?partnerOrderId=${partnerOrderId}`;
const main = (page: Page) => page.getByRole('main');

/** The create did not arrive. */
async function lost(): Promise<PayoutRef> {
  const ref = await stage.world.payWithFault({ kind: 'drop-before' }, 'success final=0s');
  await stage.world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
  return ref;
}

async function resolve(page: Page, ref: PayoutRef, decision: string): Promise<void> {
  await page.goto(pathOf(ref));
  await page.getByLabel(decision).check();
  await page.getByRole('button', { name: 'Resolve' }).click();
}

async function isResolved(page: Page, { partnerOrderId }: PayoutRef): Promise<void> {
  await page
    .getByRole('status')
    .filter({ hasText: `Resolved ${partnerOrderId}` })
    .waitFor();
}

describe('a reviewer', () => {
  test('reads the evidence, and ends a payout whose order does not exist', async () => {
    const ref = await lost();
    const page = await stage.signedIn();
    const card = page
      .getByRole('region', { name: 'In review' })
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: ref.partnerOrderId, exact: true }) });
    await eventually(async () => {
      await page.goto('/desk');
      return (await card.count()) > 0 || undefined;
    });
    await card.getByRole('link', { name: 'Review ' }).click();
    const text = await textOf(main(page));
    expect(text).toMatch(/Payments sent\s+1/);
    expect(text).toMatch(/Status\s+Needs review NEEDS_REVIEW/);
    expect(text).not.toMatch(/create call|knows no order/);
    expect(text).toMatch(
      /Evidence[\s\S]*Payment may have been sent: No usable response\.[\s\S]*The provider has no record of it\./,
    );
    await page.getByLabel('No. Close this payout').check();
    await page.getByRole('button', { name: 'Resolve' }).click();
    await isResolved(page, ref);
    expect((await stage.world.payouts.result(ref)).reason?.code).toBe('RESOLVED_NOT_CREATED');
    await page.goto(pathOf(ref));
    expect(await textOf(main(page))).toContain('Review resolved by desk');
  });

  test('reads that a named order does not exist, and has the order created again', async () => {
    const ref = await lost();
    const page = await stage.signedIn();
    await page.goto(pathOf(ref));
    await page.getByLabel('Yes. The provider has this order').check();
    await page.getByLabel('Order id').fill('PO-of-nobody');
    await page.getByRole('button', { name: 'Resolve' }).click();
    await page.getByRole('alert').waitFor();
    expect((await stage.world.payouts.state(ref)).phase).toBe('NEEDS_REVIEW');
    await resolve(page, ref, 'No. Send the payment again.');
    await isResolved(page, ref);
    await stage.world.until(ref, ({ orderId }) => orderId !== undefined);
    // The lost one and the repeated one.
    expect(createsOf(stage.world, ref)).toHaveLength(2);
  });

  test('states about each named order whether it is that of the payout', async () => {
    const { world } = stage;
    const { control } = world.simulator;
    const unreadable = control.addFault({
      operation: 'queryDetail',
      fault: { kind: 'envelope', code: 900000 },
    });
    const ref = await world.payWithFault({ kind: 'drop-after' }, 'success final=0s');
    await world.until(ref, ({ reasons }) => reasons.some(({ code }) => code === 'ORDER_NOT_COMPARED'));
    control.changeOrder(ref.partnerOrderId, { visible: false });
    const { reviewedOrderIds = [] } = await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    const [orderId = ''] = reviewedOrderIds;
    const page = await stage.signedIn();
    await resolve(page, ref, 'No. Close this payout');
    await page.getByRole('alert').filter({ hasText: orderId }).waitFor();
    await page.goto(pathOf(ref));
    await page.getByText(`none of these orders belongs to this payout: ${orderId}`).waitFor();
    // The provider answers again: it is the order of the payout.
    control.removeFault(unreadable.id);
    expect(await page.getByLabel('Order id').inputValue()).toBe(orderId);
    await resolve(page, ref, 'Yes. The provider has this order');
    await isResolved(page, ref);
    await world.until(ref, (state) => state.orderId === orderId);
  });

  test('who states that a named order is not that of the payout, decides', async () => {
    const { world } = stage;
    const { control } = world.simulator;
    const unreadable = control.addFault({
      operation: 'queryDetail',
      fault: { kind: 'envelope', code: 900000 },
    });
    try {
      const ref = await world.payWithFault({ kind: 'drop-after' }, 'success final=0s');
      await world.until(ref, ({ reasons }) => reasons.some(({ code }) => code === 'ORDER_NOT_COMPARED'));
      control.changeOrder(ref.partnerOrderId, { visible: false });
      await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
      const page = await stage.signedIn();
      await page.goto(pathOf(ref));
      await page.getByLabel('I have checked that none').check();
      await page.getByLabel('No. Close this payout').check();
      await page.getByRole('button', { name: 'Resolve' }).click();
      await isResolved(page, ref);
    } finally {
      control.removeFault(unreadable.id);
    }
  });
});
