/** The search box of every page, in a real browser without JavaScript. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { as } from '../support/callers.ts';
import { DeskStage } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { post } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

let stage: DeskStage;
let target: PayoutRequest;

beforeAll(async () => {
  const env = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_SEARCH_KEYS: newKey('s1') };
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
    ...['lotus', '4417', '98.5', '98.50 cny'],
    // By hashes: the list has neither the number, nor the name in this form.
    ...['6222 0200 0000 4417', 'ＬＯＴＵＳ  toys ltd'],
    target.partnerOrderId.slice(0, -1),
  ])
    await eventually(async () => {
      await find(text);
      return (await link.count()) === 1 || undefined;
    });
  await find('4417');
  expect(await rows.count()).toBe(2);
  expect(await search.inputValue()).toBe('4417');
  await find('<b>nobody</b>');
  await page.getByText('Nothing matches “<b>nobody</b>”').waitFor();
  await find(target.partnerOrderId);
  await page.getByRole('heading', { name: `Payout ${target.partnerOrderId}`, level: 1 }).waitFor();
});
