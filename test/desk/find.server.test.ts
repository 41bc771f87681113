/** The search box of every page, in a real browser without JavaScript. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { DeskBrowser, DeskStage, startDesk, textOf } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { post } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const env = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_SEARCH_KEYS: newKey('s1') };

let stage: DeskStage;
let target: PayoutRequest;

beforeAll(async () => {
  stage = await DeskStage.start({ env });
  const platform = 'sim:slow final=1h';
  const { receiver, ...request } = payoutRequest(newPartnerOrderId(), { platform });
  target = {
    ...{ ...request, instructedAmount: { currency: 'CNY', amount: '98.50' } },
    receiver: { ...receiver, bankAccountName: 'Lotus Toys Ltd', bankAccountNumber: '6222020000004417' },
  };
  for (const body of [target, payoutRequest(newPartnerOrderId(), { platform })])
    expect((await post(`${stage.server.url}/v1/payouts`, body, as('shop'))).status).toBe(202);
});
afterAll(() => stage?.stop());

test('finds a payout by its id, beneficiary, account and amount, and by parts of them', async () => {
  const page = await stage.signedIn();
  const search = page.getByRole('searchbox', { name: 'Search payouts' });
  const rows = page.getByRole('main').getByRole('row');
  const find = async (text: string) => {
    await page.goto('/desk/today');
    await search.fill(text);
    await search.press('Enter');
    await page.getByRole('heading', { level: 1 }).waitFor();
  };
  const link = rows.getByRole('link', { name: target.partnerOrderId, exact: true });
  for (const text of [
    // By the list of the last payouts.
    ...['lotu', '4417', '··4417', '****4417', '…4417', 'ending in 4417', '98.5', '98,50', '98.50 cny'],
    // By hashes: the list has neither the number, nor the name in this form.
    ...['6222 0200 0000 4417', 'ＬＯＴＵＳ  toys ltd', 'Toys, Lotus'],
    target.partnerOrderId.slice(0, -1),
  ])
    await eventually(async () => {
      await find(text);
      return (await link.count()) === 1 || undefined;
    });
  // The filter of the list takes amounts in the same way, in the only currency that is paid.
  await page.goto('/desk/payouts?amount=98,50');
  expect(await link.count()).toBe(1);
  await page.goto('/desk/payouts?amount=98.50x&clientId=client-1');
  await page.getByRole('alert').filter({ hasText: 'Amount must be an amount and its currency' }).waitFor();
  expect(await page.getByLabel('Client', { exact: true }).inputValue()).toBe('client-1');
  await find('4417');
  expect(await rows.count()).toBe(2);
  expect(await search.inputValue()).toBe('4417');
  await find('<b>nobody</b>');
  await page.getByText('Nothing matches “<b>nobody</b>”').waitFor();
  await find(target.partnerOrderId);
  await page.getByRole('heading', { name: `Payout ${target.partnerOrderId}`, level: 1 }).waitFor();
});

test('H348 finds words and the last four digits among all payouts, and says what it leaves out', async () => {
  const { world } = stage;
  const batches = new Batches({ client: world.client, environment: 'test' });
  const notBefore = new Date(world.clock.wallMs() + 86_400_000).toISOString();
  // Random ids may contain what the test looks for.
  const rows = Array.from({ length: 101 }, (_, at) => ({
    ...payoutRequest(`later-${1_000 + at}`),
    notBefore,
  }));
  await batches.start({ batchId: 'later', payouts: rows });
  const page = await stage.signedIn();
  const main = page.getByRole('main');
  const find = (text: string) => page.goto(`/desk/find?q=${encodeURIComponent(text)}`);
  const link = main.getByRole('link', { name: target.partnerOrderId, exact: true });
  await eventually(async () => {
    await find('lotu');
    return (await link.count()) === 0 || undefined;
  });
  for (const text of ['toys LOTUS', '4417', '98,50', '98.5 CNY']) {
    await find(text);
    expect([text, await link.count()]).toEqual([text, 1]);
    expect([text, await main.getByRole('status').allInnerTexts()]).toEqual([text, []]);
  }
  // Of the name of all others.
  await find('zhang');
  await main.getByRole('status').filter({ hasText: 'More than 25 payouts match by name' }).waitFor();
  await main.getByRole('link', { name: 'Show all of them' }).click();
  await main.getByText('Beneficiary: zhang').waitFor();
  await find('zhan');
  await main.getByRole('status').filter({ hasText: '100 of these match only a part' }).waitFor();

  const unkeyed = await startDesk(world.client, {
    PAYOUTS_ENCRYPTION_KEYS: env.PAYOUTS_ENCRYPTION_KEYS,
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('desk')]),
  });
  try {
    const browser = new DeskBrowser(unkeyed.url);
    await browser.signIn('key-of-desk');
    const { html } = await browser.get('/desk/find?q=lotus');
    expect(html).not.toContain(target.partnerOrderId);
    expect(html).toContain('Only IDs are searched completely');
  } finally {
    await unkeyed.close();
  }
});

test('H350 tells an approver whether the account was paid before', async () => {
  const { world, server } = stage;
  const start = async (end: string, over: Partial<PayoutRequest>) => {
    const { receiver, ...request } = payoutRequest(newPartnerOrderId(), over);
    const body = { ...request, receiver: { ...receiver, bankAccountNumber: `621000000000${end}` } };
    expect((await post(`${server.url}/v1/payouts`, body, as('shop'))).status).toBe(202);
    return body;
  };
  const awaiting = async (end: string, over: Partial<PayoutRequest> = {}) => {
    const body = await start(end, { approval: 'required', metadata: { invoice: 'A-7' }, ...over });
    await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
    return body;
  };
  await world.payouts.result(await start('3131', { platform: 'sim:success final=0s' }));
  const [again, first] = [await awaiting('3131'), await awaiting('4242')];
  const { receiver } = payoutRequest(newPartnerOrderId());
  const renamed = await awaiting('3131', { receiver: { ...receiver, bankAccountName: 'Somebody Else' } });
  const page = await stage.signedIn();
  const main = page.getByRole('main');
  const shows = (body: PayoutRequest, text: RegExp) =>
    eventually(async () => {
      await page.goto(`/desk/payout?partnerOrderId=${body.partnerOrderId}&from=inbox`);
      return text.test(await textOf(main)) || undefined;
    });
  await shows(again, /This account\s+1 payment before, the last started/);
  await shows(renamed, /This account\s+First payment to this name and account/);
  await shows(first, /This account\s+First payment to this name and account/);
  expect(await textOf(main)).toMatch(/Metadata\s+invoice\s+A-7[\s\S]*Purpose\s+Goods/);
  await page.getByRole('button', { name: 'Approve' }).click();
  await world.payouts.result(first);
  await page.goto(`/desk/payout?partnerOrderId=${first.partnerOrderId}&from=inbox`);
  await main.getByRole('link', { name: 'Back to the inbox' }).waitFor();
});
