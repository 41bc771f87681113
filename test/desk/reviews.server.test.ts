/** A person decides on the desk whether the order of a payout exists, in a real browser without JavaScript. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Pauses } from '../../src/client/leases.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { DeskBrowser, DeskStage, textOf } from '../support/desk.ts';
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

const [YES, CLOSE, AGAIN] = ['Yes. The provider has', 'No. Close this payout', 'No. Send the payment again'];
const [OURS, NOT_OURS] = ["It's ours. Track it", "It isn't ours. Close this payout"];

const answer = async (page: Page, ref: PayoutRef, text: string) => {
  await page.goto(pathOf(ref));
  await page.getByText(text).click();
};
const close = (page: Page) => page.getByRole('button', { name: 'Close without paying' }).click();
const confirmed = (page: Page) => page.locator('[open]').getByLabel('Close without paying 100.00 CNY');
const track = (page: Page) => page.getByRole('button', { name: 'Track this order' }).click();

async function isDone(page: Page, notice: string, { partnerOrderId }: PayoutRef): Promise<void> {
  await page
    .getByRole('status')
    .filter({ hasText: `${notice} ${partnerOrderId}` })
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
    expect(text).toMatch(/Status\s+Needs review/);
    expect(text).not.toMatch(/create call|knows no order/);
    expect(text).toMatch(
      /Evidence[\s\S]*Payment may have been sent: No usable response\.[\s\S]*The provider has no record of it\./,
    );
    // No step is there twice.
    expect(text.match(/The provider has no record of it\./g)).toHaveLength(1);
    await page.getByText(CLOSE).click();
    // The browser requires the confirmation.
    await close(page);
    expect(await confirmed(page).evaluate((field) => field.matches(':invalid:focus'))).toBe(true);
    expect((await stage.world.payouts.state(ref)).phase).toBe('NEEDS_REVIEW');
    await confirmed(page).check();
    await close(page);
    await isDone(page, 'Closed without paying:', ref);
    expect((await stage.world.payouts.result(ref)).reason?.code).toBe('RESOLVED_NOT_CREATED');
    await page.goto(pathOf(ref));
    expect(await textOf(main(page))).toContain('Review resolved by desk');
  });

  test('H333 reads that a named order does not exist, and has the payment sent again only after confirming it', async () => {
    const ref = await lost();
    const page = await stage.signedIn();
    await answer(page, ref, YES);
    const orderId = page.getByLabel('Order ID');
    // The browser requires it.
    await track(page);
    expect(await orderId.evaluate((field) => field.matches(':invalid:focus'))).toBe(true);
    await orderId.fill('PO-of-nobody');
    await track(page);
    await page.getByRole('alert').filter({ hasText: "You didn't resolve the review" }).waitFor();
    // The form is kept, and says it where the field is.
    expect(await orderId.inputValue()).toBe('PO-of-nobody');
    expect(await orderId.getAttribute('aria-describedby')).toBe('orderId-error');
    expect(await textOf(page.locator('#orderId-error'))).toContain("doesn't know this order");
    await page.getByText(AGAIN).click();
    const send = page.getByRole('button', { name: 'Send the payment again' });
    await send.click();
    expect((await stage.world.payouts.state(ref)).phase).toBe('NEEDS_REVIEW');
    const pauses = new Pauses({ client: stage.world.client, environment: 'test' });
    await pauses.pause('default', { by: 'test' });
    await page.getByLabel('Pay 100.00 CNY again. If the first payment arrives too').check();
    await send.click();
    await isDone(page, 'Sending the payment again:', ref);
    await stage.world.until(ref, ({ phase }) => phase === 'PAUSED');
    await page.goto(pathOf(ref));
    await page.getByText("you can't cancel").waitFor();
    expect(await page.getByRole('button', { name: 'Cancel the payout' }).count()).toBe(0);
    await pauses.resume('default', { by: 'test' });
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
    await answer(page, ref, NOT_OURS);
    // The browser requires the statement about the order.
    await close(page);
    await page
      .locator('[open]')
      .getByLabel(`none of these orders belongs to this payout: ${orderId}`)
      .waitFor();
    expect((await world.payouts.state(ref)).phase).toBe('NEEDS_REVIEW');
    // The provider answers again: it is the order of the payout.
    control.removeFault(unreadable.id);
    await answer(page, ref, OURS);
    expect(await page.getByLabel('Order ID').inputValue()).toBe(orderId);
    await track(page);
    await isDone(page, 'Tracking the order of', ref);
    await world.until(ref, (state) => state.orderId === orderId);
  });

  test('H349 compares an order of another beneficiary, and needs a confirmation to close it', async () => {
    const { world, server } = stage;
    const ref = await world.pay('other-beneficiary field=name');
    const { sends = 0, reviewedOrderIds } = await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    const page = await stage.signedIn();
    await page.goto(pathOf(ref));
    const text = await textOf(main(page));
    expect(text).toContain('Is this order ours?');
    expect(text).toContain("the beneficiary's name differs from the request");
    expect(text).not.toMatch(/bankAccountName|partnerOrderId/);
    expect(text).toMatch(/Beneficiary\s+Zhang San\s+Differs/);
    expect(text).toMatch(/Bank\s+Example Bank\s+No difference seen/);
    expect(text).toMatch(/Account number\s+ending in 0000\s+No difference seen/);
    expect(text).toMatch(/Amount\s+100.00 CNY\s+No difference seen/);
    // Also without the browser's own check.
    const browser = new DeskBrowser(server.url);
    await browser.signIn('key-of-desk');
    await browser.get(pathOf(ref));
    const { status, html } = await browser.post('/desk/payouts/resolve', {
      ...{ partnerOrderId: ref.partnerOrderId, decision: 'end', sends: String(sends) },
      ...{ noneIsOurs: 'yes', reviewedOrderIds: JSON.stringify(reviewedOrderIds) },
    });
    expect([status, html]).toEqual([400, expect.stringContaining('closed without paying')]);
    expect((await world.payouts.state(ref)).phase).toBe('NEEDS_REVIEW');
    await answer(page, ref, OURS);
    await track(page);
    await isDone(page, 'Tracking the order of', ref);
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
      await answer(page, ref, NOT_OURS);
      await page.locator('[open]').getByLabel('I have checked that none').check();
      await confirmed(page).check();
      await close(page);
      await isDone(page, 'Closed without paying:', ref);
    } finally {
      control.removeFault(unreadable.id);
    }
  });
});
