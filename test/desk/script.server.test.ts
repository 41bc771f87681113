/** What the script of the desk adds, in a real browser. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { DeskStage, textOf } from '../support/desk.ts';
import { EventEndpoint, eventsFile } from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';

let stage: DeskStage;
let endpoint: EventEndpoint;
beforeAll(async () => {
  endpoint = await EventEndpoint.start();
  stage = await DeskStage.start({ env: { PAYOUTS_EVENTS_FILE: eventsFile([{ url: endpoint.url }]) } });
});
afterAll(async () => {
  await stage?.stop();
  await endpoint?.stop();
});

async function awaiting(): Promise<PayoutRef> {
  const ref = await stage.world.pay('success', { approval: 'required' });
  await stage.world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
  return ref;
}

test('keys choose rows and lead to the buttons; the sum of the chosen is shown; times are local, ids copyable', async () => {
  const refs = [await awaiting(), await awaiting()];
  const page = await stage.signedIn('desk', {
    javaScriptEnabled: true,
    timezoneId: 'Asia/Tokyo',
    locale: 'en-GB',
  });
  const boxes = page.locator('[name^=pick]');
  await eventually(async () => {
    await page.goto('/desk');
    return (await boxes.count()) === refs.length || undefined;
  });
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('choose the row').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('body').press('j');
  expect(await page.locator(':focus').textContent()).toMatch(/^p-/);
  await page.keyboard.press('k');
  await page.getByRole('group', { name: 'Payout' }).first().focus();
  for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key);
  await page.getByText('2 chosen: 200.00 CNY').waitFor();
  await page.keyboard.press('x');
  await page.getByText('1 chosen: 100.00 CNY').waitFor();
  await page.keyboard.press('a');
  expect(await page.locator(':focus').textContent()).toBe('Approve chosen');
  await page.getByLabel('Choose all').click();
  await page.getByText('2 chosen: 200.00 CNY').waitFor();
  await page.getByLabel('Choose all').click();
  await page.getByText('0 chosen').waitFor();
  expect(await page.getByRole('button', { name: 'Approve chosen' }).isDisabled()).toBe(true);
  const ids = () =>
    page.getByRole('region', { name: 'Awaiting approval' }).locator('tbody th a').allTextContents();
  await page.getByRole('button', { name: 'Payout', exact: true }).click();
  const falling = await ids();
  const { compare } = new Intl.Collator('en', { numeric: true });
  expect(falling).toEqual([...falling].sort(compare).reverse());
  await page.getByRole('button', { name: 'Payout', exact: true }).click();
  expect(await ids()).toEqual([...falling].reverse());
  await page
    .getByRole('columnheader', { name: 'Payout' })
    .first()
    .and(page.locator('[aria-sort=ascending]'))
    .waitFor();
  await page.keyboard.press('/');
  expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Search payouts');
  const [ref] = refs;
  await page.goto(`/desk/payout?partnerOrderId=${ref?.partnerOrderId}`);
  const started = page.locator('time').first();
  expect(await started.getAttribute('title')).toMatch(/UTC$/);
  expect(await started.textContent()).not.toMatch(/UTC/);
  await page.getByRole('button', { name: `Copy ${ref?.partnerOrderId}` }).waitFor();
});

test('a second payout of the same amount to the same beneficiary warns the approver', async () => {
  const ref = await awaiting();
  const page = await stage.signedIn();
  const warning = page.getByRole('alert').filter({ hasText: 'the same amount in the last 7 days' });
  await eventually(async () => {
    await page.goto(`/desk/payout?partnerOrderId=${ref.partnerOrderId}`);
    return (await warning.count()) > 0 || undefined;
  });
  expect(await textOf(warning)).not.toContain(ref.partnerOrderId);
  const box = page.getByLabel(`Choose ${ref.partnerOrderId}`);
  await eventually(async () => {
    await page.goto('/desk');
    return (await box.count()) > 0 || undefined;
  });
  await page.getByRole('row').filter({ has: box }).getByText('Possible duplicate').waitFor();
  await box.check();
  await page.getByRole('button', { name: 'Approve chosen' }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: /Possible duplicates: [\s\S]*, 100\.00 CNY: like/ })
    .waitFor();
});

test('an endpoint of events is listed, tested, and gets events again', async () => {
  await stage.world.payouts.result(await stage.world.pay('success final=0s'));
  const page = await stage.signedIn();
  const row = page.getByRole('row').filter({ hasText: 'shop' });
  await eventually(async () => {
    await page.goto('/desk/events');
    return /Enabled/.test(await textOf(row)) || undefined;
  });
  await row.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('status').filter({ hasText: 'Sent a test to shop: delivered' }).waitFor();
  await row.getByRole('button', { name: 'Send again' }).click();
  await eventually(async () => {
    await page.goto('/desk/events');
    return /[1-9]\d* events sent again/.test(await textOf(row)) || undefined;
  });
  endpoint.answer = () => 503;
  await row.getByRole('button', { name: 'Send a test' }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: 'The test failed for shop: it returned error 503.' })
    .waitFor();
  await stage.world.payouts.result(await stage.world.pay('success final=0s'));
  await eventually(async () => {
    await page.goto('/desk/events');
    return /Fails[\s\S]*It returned error 503/.test(await textOf(row)) || undefined;
  });
  endpoint.answer = () => 204;
  await row.getByRole('button', { name: 'Retry now' }).click();
  await eventually(async () => {
    await page.goto('/desk/events');
    return /Enabled\s+Everything has been delivered/.test(await textOf(row)) || undefined;
  });
  const scoped = await stage.signedIn('scoped');
  await scoped.goto('/desk/events');
  await scoped.getByText('No endpoints').waitFor();
});
