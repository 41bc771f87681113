/** axe finds nothing serious on any page, in light and dark and on a phone, and the policy of the pages blocks nothing of them. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Batches } from '../../src/client/batches.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { DeskStage, textOf } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { accountsOf, openingRequest, untilOpening } from '../support/openings.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const report = z.object({
  violations: z.array(
    z.object({ id: z.string(), impact: z.string().nullable(), nodes: z.array(z.unknown()) }),
  ),
});

let stage: DeskStage;
let batchId: string;
const refs: Record<'approval' | 'review' | 'partial' | 'slow', PayoutRef> = {
  ...{ approval: { partnerOrderId: '' }, review: { partnerOrderId: '' } },
  ...{ partial: { partnerOrderId: '' }, slow: { partnerOrderId: '' } },
};
const opening = openingRequest();

beforeAll(async () => {
  stage = await DeskStage.start();
  const { world } = stage;
  refs.review = await world.payWithFault({ kind: 'drop-before' }, 'success');
  refs.approval = await world.pay('success', { approval: 'required' });
  refs.partial = await world.pay('partial splits=3 failed=1');
  refs.slow = await world.pay('slow final=1h');
  await world.payouts.result(
    await world.pay('success final=0s', { instructedAmount: { currency: 'CNY', amount: '9999999999.99' } }),
  );
  batchId = `b-${newPartnerOrderId()}`;
  const notBefore = new Date(world.clock.wallMs() + 3_600_000).toISOString();
  const payouts = [payoutRequest(newPartnerOrderId(), { notBefore })];
  await new Batches({ client: world.client, environment: 'test' }).start({
    batchId,
    payouts,
    startedBy: 'desk',
  });
  world.simulator.control.addFault({
    ...{ operation: 'receivingAccountCreate', times: 1, fault: { kind: 'drop-before' } },
  });
  const accounts = accountsOf(world);
  await accounts.open(opening, { startedBy: 'shop' });
  await untilOpening(accounts, opening, ({ phase }) => phase === 'NEEDS_REVIEW');
  await world.payouts.result(refs.partial);
  await world.until(refs.approval, ({ phase }) => phase === 'AWAITING_APPROVAL');
  await world.until(refs.review, ({ phase }) => phase === 'NEEDS_REVIEW');
});
afterAll(() => stage?.stop());

const story = ({ partnerOrderId }: PayoutRef) => `/desk/payout?partnerOrderId=${partnerOrderId}`;

const measures = z.object({
  ...{ content: z.number(), window: z.number(), spilling: z.number() },
  small: z.array(z.string()),
});
const MEASURE = `({
  content: document.documentElement.scrollWidth,
  window: innerWidth,
  spilling: [...document.querySelectorAll('.tiles .card')].filter((one) => one.scrollWidth > one.clientWidth).length,
  small: [...document.querySelectorAll('nav a, .tabs a, tbody th a, summary, main button, .button')]
    .filter((one) => !one.closest('thead') && one.checkVisibility() && one.getBoundingClientRect().height < 32)
    .map((one) => one.textContent.trim()),
})`;

async function expectAccessible(page: Page): Promise<void> {
  // Not by the page itself, whose policy forbids scripts.
  await page.evaluate(AXE);
  const { content, window, spilling, small } = measures.parse(await page.evaluate(MEASURE));
  expect(content, `${page.url()} scrolls to the side`).toBeLessThanOrEqual(window);
  expect(spilling, `${page.url()} has tiles that are too small`).toBe(0);
  if (window < 400) expect(small, `${page.url()} has targets that are too small`).toEqual([]);
  const { violations } = report.parse(await page.evaluate('axe.run(document)'));
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(serious, `${page.url()}: ${JSON.stringify(serious, null, 1)}`).toEqual([]);
}

async function upload(page: Page, content: string): Promise<void> {
  await page.goto('/desk/batches');
  await page.getByLabel('Batch ID').fill('a-batch');
  await page.getByLabel('File').setInputFiles({
    ...{ name: 'payouts.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(content) },
  });
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('heading', { name: 'Preview' }).waitFor();
}

describe.each([
  ['in the light theme', { colorScheme: 'light' }],
  ['in the dark theme', { colorScheme: 'dark' }],
  ['on a phone', { viewport: { width: 360, height: 740 } }],
  ['on a tablet', { viewport: { width: 768, height: 1_024 } }],
] as const)('%s', (_where, how) => {
  test('every page can be used with a screen reader, without scrolling to the side, and violates no policy', async () => {
    const options = { ...how, javaScriptEnabled: true };
    const page = await stage.signedIn('desk', options);
    const refused: string[] = [];
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) refused.push(message.text());
    });
    // Visibility lags: until the inbox has all of its sections.
    await eventually(async () => {
      await page.goto('/desk');
      const text = await textOf(page.getByRole('main'));
      const all = [refs.approval.partnerOrderId, refs.review.partnerOrderId, opening.requestId];
      return all.every((id) => text.includes(id)) || undefined;
    });
    await expectAccessible(page);
    const paths = [
      ...[refs.approval, refs.review, refs.partial, refs.slow].map(story),
      `/desk/receiving-account?requestId=${opening.requestId}`,
      ...['/desk/payouts', '/desk/payouts?phase=DONE', '/desk/payouts?phase=NONE', '/desk/no-such-page'],
      ...[
        '/desk/batches',
        `/desk/batch?batchId=${batchId}&live=off`,
        '/desk/today',
        '/desk/events',
        '/desk/statement',
      ],
    ];
    for (const path of paths) {
      await page.goto(path);
      await expectAccessible(page);
    }
    await page.goto('/desk');
    await page.getByLabel(`Choose ${refs.approval.partnerOrderId}`).check();
    await page.getByRole('button', { name: 'Approve chosen' }).click();
    await page.getByRole('heading', { name: 'Approve 1 payout?' }).waitFor();
    await expectAccessible(page);
    await upload(page, JSON.stringify(payoutRequest('p-1')));
    await expectAccessible(page);
    await upload(page, '{"clientId":""}');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Key').waitFor();
    await expectAccessible(page);
    expect(refused).toEqual([]);
  });
});

test('the check finds what a screen reader cannot use', async () => {
  const page = await stage.signedIn('desk', { javaScriptEnabled: true });
  // The policy of the desk's pages refuses the markup.
  await page.goto('about:blank');
  await page.setContent('<main><input><img src="data:,"></main>');
  await expect(expectAccessible(page)).rejects.toThrow(/image-alt[\s\S]*label/);
});

test('a receiving account request in review is resolved', async () => {
  const page = await stage.signedIn();
  await page.goto(`/desk/receiving-account?requestId=${opening.requestId}`);
  expect(await textOf(page.getByRole('main'))).toMatch(/Requests sent\s+1/);
  await page.getByLabel('No. End the request.').check();
  await page.getByRole('button', { name: 'Resolve' }).click();
  await page
    .getByRole('status')
    .filter({ hasText: `Resolved ${opening.requestId}` })
    .waitFor();
  const { outcome } = await accountsOf(stage.world).result(opening);
  expect(outcome).toBe('NOT_OPENED');
});
