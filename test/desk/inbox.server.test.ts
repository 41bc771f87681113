/** The inbox with more payouts than a page has, in a real browser: the oldest first, batch by batch, and all at once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { DeskStage, textOf } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let stage: DeskStage;
let batches: Batches;

beforeAll(async () => {
  stage = await DeskStage.start();
  batches = new Batches({ client: stage.world.client, environment: 'test' });
});
afterAll(() => stage?.stop());

/** A batch whose payouts all await approval. */
async function awaitingBatch(batchId: string, amounts: readonly string[]): Promise<PayoutRequest[]> {
  const rows = amounts.map((amount) =>
    payoutRequest(newPartnerOrderId(), {
      ...{ approval: 'required', platform: 'sim:success' },
      instructedAmount: { currency: 'CNY', amount },
    }),
  );
  await batches.start({ batchId, payouts: rows, startedBy: 'shop' });
  await eventually(async () => {
    const { phases } = await batches.state({ batchId });
    return phases.AWAITING_APPROVAL === rows.length || undefined;
  });
  return rows;
}

const amountsOf = (count: number) => Array.from({ length: count }, (_, at) => `${at + 1}.00`);

describe('many payouts that wait', () => {
  test('H345 a batch is approved at once, on the terms that the page has shown, up to the limit of the key', async () => {
    const rows = await awaitingBatch('salaries', [...amountsOf(23), '2500.00']);
    await awaitingBatch('others', amountsOf(2));
    const page = await stage.signedIn();
    const main = page.getByRole('main');
    const review = page.getByRole('link', { name: 'Review all 24 for approval' });
    await eventually(async () => {
      await page.goto('/desk/batch?batchId=salaries&live=off');
      return (await review.count()) > 0 || undefined;
    });
    await page.getByRole('link', { name: '24 payouts await approval' }).click();
    // The inbox of the batch alone.
    await page.getByText('20 of 24 payouts, oldest first. These 20: ').waitFor();
    expect(await textOf(page.getByRole('list', { name: 'Batches' }))).toMatch(/All\s+salaries 24\s+others 2/);
    await review.click();
    await page.getByRole('heading', { name: 'Approve 23 payouts?' }).waitFor();
    const text = await textOf(main);
    expect(text).toMatch(/^276\.00 CNY$/m);
    expect(text).toContain('All 24 that await a decision of yours in batch salaries');
    expect(text).toContain(`${rows[23]?.partnerOrderId}: this key allows at most 100.00 CNY`);
    // Both change after the page was shown: one is requoted, the other is another person's decision.
    const [requoted, refused, , fourth] = rows;
    if (!requoted || !refused || !fourth) throw new Error('rows');
    const [field] = await page.locator(`input[name^=pick][value*="${requoted.partnerOrderId}"]`).all();
    await field?.evaluate((one) => {
      const value = JSON.parse(one.getAttribute('value') ?? '');
      one.setAttribute('value', JSON.stringify({ ...value, lockRateId: 'another-quote' }));
    });
    await stage.world.payouts.refuse(refused, { by: 'piet' });
    await page.getByRole('button', { name: 'Approve 23 payouts' }).click();
    await page.getByRole('heading', { name: 'Approved 21 of 23' }).waitFor();
    expect((await stage.world.payouts.state(requoted)).phase).toBe('AWAITING_APPROVAL');
    expect((await stage.world.payouts.result(refused)).reason?.code).toBe('APPROVAL_REFUSED');
    expect((await stage.world.payouts.result(fourth)).outcome).toBe('SUCCESS');
    // Back and reload decide nothing again.
    await page.reload();
    await page.getByRole('heading', { name: 'Approved 21 of 23' }).waitFor();
    await page.getByRole('link', { name: 'Review the one that still waits' }).click();
    await page.getByRole('heading', { name: 'Approve 1 payout?' }).waitFor();
  });

  test('the oldest come first, and those of other pages after them', async () => {
    const early = await awaitingBatch('early', amountsOf(2));
    await stage.world.pass(5_000);
    const late = await awaitingBatch('late', amountsOf(21));
    const page = await stage.signedIn();
    const section = page.getByRole('region', { name: 'Awaiting approval' });
    const next = section.getByRole('link', { name: 'Show more' });
    const shown = await eventually(async () => {
      await page.goto('/desk');
      const ids = await section.locator('tbody th a').allTextContents();
      while ((await next.count()) > 0) {
        await next.click();
        ids.push(...(await section.locator('tbody th a').allTextContents()));
      }
      return late.every(({ partnerOrderId }) => ids.includes(partnerOrderId)) ? ids : undefined;
    });
    expect(new Set(shown).size).toBe(shown.length);
    const placesOf = (rows: readonly PayoutRequest[]) =>
      rows.map(({ partnerOrderId }) => shown.indexOf(partnerOrderId));
    expect(Math.min(...placesOf(early))).toBeGreaterThanOrEqual(0);
    expect(Math.max(...placesOf(early))).toBeLessThan(Math.min(...placesOf(late)));
  });

  test('without a choice, the page says what to do', async () => {
    await awaitingBatch('unchosen', amountsOf(1));
    const page = await stage.signedIn();
    const approve = page.getByRole('button', { name: 'Approve chosen' });
    await eventually(async () => {
      await page.goto('/desk?batch=unchosen');
      return (await approve.count()) > 0 || undefined;
    });
    await approve.click();
    await page.getByRole('alert').filter({ hasText: 'Choose at least one payout.' }).waitFor();
  });
});
