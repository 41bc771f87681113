/** People use the desk in a real browser without JavaScript, against a simulated Temporal and provider. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { patient } from '../support/browser.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { BEHIND_IDENTITY_PROXY, DeskStage, fromProxy, startDesk, textOf } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import type { VirtualWorld } from '../support/virtual-world.ts';

let stage: DeskStage;
let world: VirtualWorld;

beforeAll(async () => {
  stage = await DeskStage.start();
  world = stage.world;
});
afterAll(() => stage?.stop());

async function awaitingApproval(over: Partial<PayoutRequest> = {}): Promise<PayoutRequest> {
  const body = payoutRequest(newPartnerOrderId(), { approval: 'required', platform: 'sim:success', ...over });
  await world.payouts.start(body, { startedBy: 'shop' });
  await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
  return body;
}

/** Visibility lags: reads the inbox, page by page, until one shows the payout. */
async function rowOf(page: Page, { partnerOrderId }: PayoutRef) {
  const row = page
    .getByRole('row')
    .filter({ has: page.getByRole('link', { name: partnerOrderId, exact: true }) });
  const next = page
    .getByRole('region', { name: 'Awaiting approval' })
    .getByRole('link', { name: 'Show more' });
  await eventually(async () => {
    await page.goto('/desk');
    while ((await row.count()) === 0 && (await next.count()) > 0) await next.click();
    return (await row.count()) > 0 || undefined;
  });
  return row;
}

async function decide(page: Page, ref: PayoutRef, button: string, note = ''): Promise<void> {
  await (await rowOf(page, ref)).getByRole('checkbox').check();
  await page.getByRole('button', { name: `${button} chosen` }).click();
  await page.getByLabel('Note').fill(note);
  await page.getByRole('button', { name: `${button} 1 payout` }).click();
}

/** A state may be a second old. */
async function endedStory(page: Page, { partnerOrderId }: PayoutRef): Promise<string> {
  return eventually(async () => {
    await page.goto(`/desk/payout?partnerOrderId=${partnerOrderId}`);
    const story = await textOf(page.getByRole('main'));
    return /Status\s+(Paid|Not paid)/.test(story) ? story : undefined;
  });
}

describe('an approver', () => {
  test('approves with a note, after reading amount, beneficiary, rate, fee, lock and starter', async () => {
    const body = await awaitingApproval({ metadata: { 'Order ref': 'A-<b>7</b>' } });
    const page = await stage.signedIn();
    const row = await rowOf(page, body);
    const text = await textOf(row);
    for (const shown of ['100.00 CNY', 'Zhang San', '0.07 USD', 'shop']) expect(text).toContain(shown);
    expect(text).toMatch(/\d+ (min|s), until \d+ \w+, \d\d:\d\d UTC/);
    // The decision counts for this quote only.
    const { quote } = await world.payouts.state(body);
    expect(await row.getByRole('checkbox').inputValue()).toContain(quote?.lockRateId);
    await decide(page, body, 'Approve', 'invoice checked');
    const approved = page.getByRole('heading', { name: 'Approved 1 of 1' });
    await approved.waitFor();
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
    // Back and reload repeat no form.
    await page.reload();
    await approved.waitFor();
    await page.goBack();
    await page.getByText('it does not wait for approval any more').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    const story = await endedStory(page, body);
    expect(story).toContain('Started by shop');
    expect(story).toMatch(/Metadata\s+Order ref\s+A-<b>7<\/b>/);
    expect(story).toMatch(/Approved by desk: invoice checked/);
    expect(story).toContain('Paid 100.00 CNY.');
    expect(story).toMatch(/Debits[\s\S]*AC-payer-1-USD/);
    expect(story).toMatch(/Payments[\s\S]*100\.00 CNY/);
    const { workflowId, runId } = await world.payouts.handle(body).describe();
    expect(await page.getByRole('link', { name: 'Open in the Temporal UI' }).getAttribute('href')).toBe(
      `https://temporal.example/ui/namespaces/${world.namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`,
    );
  });

  test('refuses with a note, which the result names', async () => {
    const body = await awaitingApproval();
    const page = await stage.signedIn();
    await decide(page, body, 'Refuse', 'unknown invoice');
    await page.getByRole('heading', { name: 'Refused 1 of 1' }).waitFor();
    const { outcome, reason } = await world.payouts.result(body);
    expect([outcome, reason?.message]).toEqual(['NOT_CREATED', 'refused by desk: unknown invoice']);
    expect(await endedStory(page, body)).toContain('An approver refused the payout.');
  });

  test('approves with the keyboard alone', async () => {
    const body = await awaitingApproval();
    const page = await stage.signedIn();
    await rowOf(page, body);
    const press = async (selector: string, hasText: string, key: string) => {
      const wanted = page.locator(`${selector}:focus`, hasText === '' ? {} : { hasText });
      while ((await wanted.count()) === 0) await page.keyboard.press('Tab');
      await page.keyboard.press(key);
    };
    await press(`[aria-label="Choose ${body.partnerOrderId}"]`, '', 'Space');
    await press('button', 'Approve chosen', 'Enter');
    await page.getByRole('heading', { name: 'Approve 1 payout?' }).waitFor();
    await press('button', 'Approve 1 payout', 'Enter');
    await page.getByRole('heading', { name: 'Approved 1 of 1' }).waitFor();
    expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
  });

  test('who started a payout gets no button to approve it, and reads who decides', async () => {
    const body = await awaitingApproval();
    const page = await stage.signedIn('shop');
    const row = await rowOf(page, body);
    await page.getByText(/You or your key started \d+ of \d+: someone else has to approve/).waitFor();
    expect(await row.getByRole('checkbox').count()).toBe(0);
    await row.getByRole('link').click();
    await page.getByText('someone else has to approve it').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  });

  test('reads why a decision that comes too late is not accepted', async () => {
    const body = await awaitingApproval();
    const page = await stage.signedIn();
    await (await rowOf(page, body)).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Approve chosen' }).click();
    await world.payouts.refuse(body, { by: 'piet' });
    await page.getByRole('button', { name: 'Approve 1 payout' }).click();
    await page
      .getByRole('row')
      .filter({ hasText: /100\.00 CNY\s*Refused by piet, \d+ \w+, \d\d:\d\d UTC/ })
      .waitFor();
    expect((await world.payouts.result(body)).reason?.code).toBe('APPROVAL_REFUSED');
  });

  test('reads why a decision on the page of a payout is not accepted, without losing the form', async () => {
    const body = await awaitingApproval();
    const page = await stage.signedIn();
    await (await rowOf(page, body)).getByRole('link').click();
    // The page was opened from the inbox.
    await page.locator('nav [aria-current]', { hasText: 'Inbox' }).waitFor();
    const text = await textOf(page.getByRole('main'));
    expect(text).toMatch(
      /Pay \d+\.\d\d USD for 100\.00 CNY\.\s+If the rate lock has expired, a new quote may/,
    );
    expect(text).toMatch(/Decide\s+Approve until \d+ \w+, /);
    const lock = page.locator('[name=lockRateId]');
    const shown = await lock.inputValue();
    await lock.evaluate((field) => field.setAttribute('value', 'another quote'));
    await page.getByLabel('Note').fill('unknown invoice');
    const refuse = page.getByRole('button', { name: 'Refuse' });
    await refuse.click();
    await page.getByText("You didn't refuse it: its quote has changed.").waitFor();
    expect(await page.getByLabel('Note').inputValue()).toBe('unknown invoice');
    expect(await lock.inputValue()).toBe(shown);
    await page.locator('nav [aria-current]', { hasText: 'Inbox' }).waitFor();
    await world.payouts.approve(body, { by: 'piet' });
    await refuse.click();
    await page
      .getByText(/You didn't refuse it: it was already approved by piet, \d+ \w+, \d\d:\d\d/)
      .waitFor();
    await page.getByRole('heading', { name: `Payout ${body.partnerOrderId}` }).waitFor();
  });

  test('is led back from a page about a problem, which keeps the counts', async () => {
    const page = await stage.signedIn();
    await page.goto('/desk/no-such-page', { referer: `${stage.server.url}/desk/payouts?limit=10` });
    await page.locator('nav .count').first().waitFor({ state: 'attached' });
    await page.getByRole('link', { name: 'Back', exact: true }).click();
    await page.waitForURL(/\/desk\/payouts\?limit=10$/);
    await page.goto('/desk/no-such-page', { referer: 'https://elsewhere.example/desk/payouts' });
    await page.getByRole('link', { name: 'Back to the inbox' }).waitFor();
  });

  test('H332 reads count, totals and the largest amount before several payouts are decided', async () => {
    const instructed = (amount: string) => ({ instructedAmount: { currency: 'CNY', amount } });
    const [small, large, tooLarge] = [
      await awaitingApproval(instructed('60.25')),
      await awaitingApproval(instructed('99.50')),
      await awaitingApproval(instructed('2500.00')),
    ];
    const page = await stage.signedIn();
    for (const body of [small, large, tooLarge]) await rowOf(page, body);
    for (const { partnerOrderId } of [small, large, tooLarge])
      await page.getByRole('checkbox', { name: `Choose ${partnerOrderId}` }).check();
    await page.getByRole('button', { name: 'Approve chosen' }).click();
    await page.getByRole('heading', { name: 'Approve 2 payouts?' }).waitFor();
    const text = await textOf(page.getByRole('main'));
    expect(text).toMatch(/^159\.75 CNY$/m);
    expect(text).toMatch(/Largest amount\s+99\.50 CNY to Zhang San/);
    expect(text).toMatch(/Payers pay\s+\S+ USD\s+Fees\s+\S+ USD/);
    expect(text).toMatch(/\d s, until /);
    expect(text).toContain(`${tooLarge.partnerOrderId}: this key allows at most 100.00 CNY`);
    for (const body of [small, large])
      expect((await world.payouts.state(body)).phase).toBe('AWAITING_APPROVAL');
    await page.getByRole('button', { name: 'Approve 2 payouts' }).click();
    await page.getByRole('heading', { name: 'Approved 2 of 2' }).waitFor();
    for (const body of [small, large]) expect((await world.payouts.result(body)).outcome).toBe('SUCCESS');
  });

  test('sees only the payouts in the scope of the key', async () => {
    const [foreign, own] = [await awaitingApproval(), await awaitingApproval({ clientId: 'client-2' })];
    const page = await stage.signedIn('scoped');
    await rowOf(page, own);
    expect(await textOf(page.getByRole('main'))).not.toContain(foreign.partnerOrderId);
    await page.goto('/desk/payouts');
    await page.getByText('Your key is limited to clients').waitFor();
    const search = page.getByRole('searchbox', { name: 'Search payouts' });
    await search.fill(foreign.partnerOrderId);
    await search.press('Enter');
    await page.getByText(`No payout has the ID ${foreign.partnerOrderId}`).waitFor();
    await search.fill(own.partnerOrderId);
    await search.press('Enter');
    await page.getByRole('heading', { name: `Payout ${own.partnerOrderId}` }).waitFor();
  });

  test('reaches every payout, page by page', async () => {
    const bodies = await Promise.all(Array.from({ length: 21 }, () => awaitingApproval()));
    const page = await stage.signedIn();
    await eventually(async () => {
      await page.goto('/desk');
      let shown = '';
      for (;;) {
        const section = page.getByRole('region', { name: 'Awaiting approval' });
        shown += await textOf(section);
        const next = section.getByRole('link', { name: 'Show more' });
        if ((await next.count()) === 0) break;
        await next.click();
      }
      return bodies.every(({ partnerOrderId }) => shown.includes(partnerOrderId)) || undefined;
    });
  });

  test('reads markup in a beneficiary name as text', async () => {
    const { receiver } = payoutRequest('any');
    const name = `<img src=x onerror="alert(1)"> & "O'Neill"`;
    const body = await awaitingApproval({ receiver: { ...receiver, bankAccountName: name } });
    const page = await stage.signedIn('desk', { javaScriptEnabled: true });
    expect(await textOf(await rowOf(page, body))).toContain(name);
    await page.goto(`/desk/payout?partnerOrderId=${body.partnerOrderId}`);
    expect(await textOf(page.getByRole('main'))).toContain(name);
    expect(await page.locator('img[src=x]').count()).toBe(0);
  });
});

describe('a person whom a proxy names', () => {
  test('approves under the own name, but not what the same person started', async () => {
    const callers = [callerEntry('finance', { users: ['olga@example.com', 'piet@example.com'] })];
    const proxied = await startDesk(world.client, {
      PAYOUTS_API_KEYS_FILE: keysFile(callers),
      ...BEHIND_IDENTITY_PROXY,
    });
    try {
      const context = await stage.browser.newContext({
        ...{ baseURL: proxied.url, javaScriptEnabled: false },
        extraHTTPHeaders: fromProxy('olga@example.com'),
      });
      const page = await patient(context.newPage());
      const [own, other] = [payoutRequest(newPartnerOrderId()), payoutRequest(newPartnerOrderId())];
      for (const [body, startedBy] of [
        [own, 'olga@example.com'],
        [other, 'piet@example.com'],
      ] as const) {
        await world.payouts.start({ ...body, approval: 'required' }, { startedBy });
        await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
      }
      const story = ({ partnerOrderId }: PayoutRef) => `/desk/payout?partnerOrderId=${partnerOrderId}`;
      await page.goto(story(own));
      await page.getByText('someone else has to approve it').waitFor();
      await page.goto(story(other));
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('status').filter({ hasText: 'Approved' }).waitFor();
      expect(await textOf(page.getByRole('main'))).toContain('Approved by olga@example.com.');
    } finally {
      await proxied.close();
    }
  });
});

describe('a person who searches', () => {
  test('finds payouts by phase and outcome, page by page, and opens one', async () => {
    const ref = await world.pay('partial splits=3 failed=1');
    await world.payouts.result(ref);
    const page = await stage.signedIn();
    const row = page.getByRole('row').filter({ hasText: ref.partnerOrderId });
    await eventually(async () => {
      await page.goto('/desk/payouts');
      await page.getByText('Filters').click();
      await page.getByLabel('Outcome').selectOption('Paid in part');
      await page.getByLabel('Created from').fill('2020-01-01T00:00');
      await page.getByRole('button', { name: 'Filter' }).click();
      return (await row.count()) > 0 || undefined;
    });
    expect(await page.getByLabel('Outcome').inputValue()).toBe('PARTIAL_SUCCESS');
    await page.getByRole('link', { name: 'Remove the filter Created from' }).click();
    expect(page.url()).toMatch(/outcome=PARTIAL_SUCCESS/);
    expect(page.url()).not.toMatch(/createdFrom/);
    await row.getByRole('link').click();
    const story = await textOf(page.getByRole('main'));
    expect(story).toMatch(/Payments[\s\S]*Failed/);
    expect(story).toMatch(/\d CNY didn't arrive\. Start a new payout for the rest\./);
    expect(story).toMatch(/Ordered\s+100\.00 CNY/);
    expect(story).toMatch(/Status\s+Paid in part\s+Id/);
    await page.goto('/desk/payouts?limit=1');
    const first = await textOf(page.getByRole('rowgroup').last());
    const sorting = page.getByText('The column names sort this page only');
    expect([await sorting.count(), await sorting.isVisible()]).toEqual([1, false]);
    await page.getByRole('link', { name: 'Next page' }).click();
    expect(await textOf(page.getByRole('rowgroup').last())).not.toBe(first);
    expect(await page.getByRole('row').count()).toBe(2);
    await page.goto('/desk/payouts?phase=NOT_A_PHASE');
    await page.getByRole('alert').waitFor();
  });

  test('H334 reads that the money of a paid payout came back', async () => {
    const ref = await world.pay('refund after=0s final=0s');
    await world.payouts.result(ref);
    const page = await stage.signedIn();
    await page.goto(`/desk/payout?partnerOrderId=${ref.partnerOrderId}`);
    const story = await textOf(page.getByRole('main'));
    expect(story).toMatch(/100\.00 CNY Returned\s/);
    expect(story).toContain('Paid 100.00 CNY, then 100.00 CNY came back.');
    expect(story).toContain('Check your balance, then start a new payout.');
    expect(story).toMatch(/Returned\s+100\.00 CNY\s+Payments[\s\S]*100\.00 CNY\s+Returned/);
    expect(await page.locator('.pill.good', { hasText: 'Paid' }).count()).toBe(0);
  });

  test('opens views and periods as links, of payouts that finished today and that wait for this person', async () => {
    const [own, other] = [await awaitingApproval(), await awaitingApproval()];
    const paid = await world.pay('success final=0s');
    await world.payouts.result(paid);
    const page = await stage.signedIn();
    const shows = (view: string, ref: PayoutRef) =>
      eventually(async () => {
        await page.goto('/desk/payouts?limit=100');
        await page.getByRole('main').getByRole('link', { name: view, exact: true }).click();
        return (await textOf(page.getByRole('main'))).includes(ref.partnerOrderId) || undefined;
      });
    await shows('Waiting for me', own);
    await shows('Waiting for me', other);
    // At midnight, the day begins anew.
    await eventually(async () => {
      await page.goto('/desk/payouts?limit=100');
      await page.getByRole('link', { name: 'Paid today', exact: true }).click();
      if ((await textOf(page.getByRole('main'))).includes(paid.partnerOrderId)) return true;
      await page.goto('/desk/payouts?limit=100&outcome=SUCCESS');
      await page.getByText('Filters').click();
      await page.getByRole('link', { name: 'Yesterday', exact: true }).click();
      return (await textOf(page.getByRole('main'))).includes(paid.partnerOrderId) || undefined;
    });
    await page.goto('/desk/payouts?outcome=SUCCESS');
    await page.getByText('Filters').click();
    await page.getByRole('main').getByRole('link', { name: 'Last month', exact: true }).click();
    await page.getByText('No payout matches').waitFor();
    expect(page.url()).toMatch(/endedFrom=.*endedTo=/);
    const shop = await stage.signedIn('shop');
    await shop.goto('/desk/payouts?phase=AWAITING_APPROVAL&limit=100');
    expect(await textOf(shop.getByRole('main'))).toContain(own.partnerOrderId);
    await shop.getByRole('link', { name: 'Waiting for me' }).click();
    expect(await textOf(shop.getByRole('main'))).not.toContain(own.partnerOrderId);
  });

  test('cancels a payout that waits, with a reason, and asks for a poll', async () => {
    const notBefore = new Date(world.clock.wallMs() + 3_600_000).toISOString();
    const ref = await world.pay('success', { notBefore });
    await world.until(ref, ({ phase }) => phase === 'SCHEDULED');
    const page = await stage.signedIn();
    await page.goto(`/desk/payout?partnerOrderId=${ref.partnerOrderId}`);
    const text = await textOf(page.getByRole('main'));
    expect(text).toContain(`Starts ${notBefore.slice(0, 19).replace('T', ' ')} UTC. Nothing has been sent.`);
    await page.getByLabel('Reason').fill('sent twice');
    await page.getByRole('button', { name: 'Cancel the payout' }).click();
    await page.getByRole('status').filter({ hasText: 'Canceled' }).waitFor();
    expect((await world.payouts.result(ref)).reason?.code).toBe('CANCELLED');
    const open = await world.pay('slow final=1h');
    await world.until(open, ({ phase }) => phase === 'PROCESSING');
    await page.goto(`/desk/payout?partnerOrderId=${open.partnerOrderId}`);
    await page.getByRole('button', { name: 'Query the provider now' }).click();
    await page.getByRole('status').filter({ hasText: 'Queried the provider' }).waitFor();
  });
});
