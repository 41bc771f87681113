/** Money that came back counts as returned, and as nothing else, on every page, in lists and in the file. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { payoutPageSchema } from '../../src/contract/lists.ts';
import { totalsByCurrency } from '../../src/contract/money.ts';
import { isoTime } from '../../src/domain/time.ts';
import { lastFinished } from '../../src/service/finished.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { DeskBrowser, startDesk } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { get, type TestApiServer } from '../support/http.ts';
import { reconcile } from '../support/reconciliation.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const DAY_MS = 86_400_000;
const cny = (amount: string) => ({ currency: 'CNY', amount });

let world: VirtualWorld;
let server: TestApiServer;
let browser: DeskBrowser;
let ids: { early: string; part: string; kept: string };

beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYOUTS_FOLLOW_UP: '1s' } });
  server = await startDesk(world.client, { PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('desk')]) });
  browser = new DeskBrowser(server.url);
  await browser.signIn('key-of-desk');
  const pay = async (scenario: string) => {
    const { partnerOrderId } = await world.pay(scenario);
    await world.payouts.result({ partnerOrderId });
    return partnerOrderId;
  };
  ids = {
    // Before the end: only the result says so.
    early: await pay('refund after=0s final=0s'),
    part: await pay('split splits=4 final=0s'),
    kept: await pay('success final=0s'),
  };
  world.simulator.control.changeOrder(ids.part, { splits: [{ index: 1, refund: true }] });
  await eventually(async () => {
    await reconcile(world);
    return (await listed()).filter(({ returned }) => returned).length === 2 || undefined;
  });
});
afterAll(async () => {
  await server.close();
  await world.stop();
});

async function listed() {
  const { body } = await get(`${server.url}/v1/payouts`, { authorization: 'Bearer key-of-desk' });
  return payoutPageSchema.parse(body).payouts;
}

const day = (offsetMs: number) => isoTime(world.clock.wallMs() + offsetMs).slice(0, 10);

async function textOf(path: string): Promise<string> {
  const { html } = await browser.get(path);
  return html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

describe('H342 returned money counts as returned, not as received', () => {
  test('in lists', async () => {
    const rows = new Map((await listed()).map((row) => [row.partnerOrderId, row]));
    expect(rows.get(ids.early)).toMatchObject({ received: cny('0.00'), returned: cny('100.00') });
    expect(rows.get(ids.part)).toMatchObject({ received: cny('75.00'), returned: cny('25.00') });
    expect(rows.get(ids.kept)).toMatchObject({ received: cny('100.00') });
    expect(rows.get(ids.kept)).not.toHaveProperty('returned');
  });

  test('on the pages: badges of lists and of the search, and sums', async () => {
    const list = await textOf('/desk/payouts');
    expect(list).toMatch(new RegExp(`${ids.early}.{0,80}100.00 CNY Returned `));
    expect(list).toMatch(new RegExp(`${ids.part}.{0,80}100.00 CNY Partly returned `));
    expect(list.match(/CNY Paid /g)).toHaveLength(1);
    expect(await textOf(`/desk/find?q=${ids.early.slice(0, -1)}`)).toMatch(
      new RegExp(`${ids.early}.{0,80}100.00 CNY Returned `),
    );
    const sums =
      /Received(?: today)? 175\.00 CNY .* Returned 125\.00 CNY .* Paid 3 175\.00 CNY 125\.00 CNY –/;
    expect(await textOf('/desk/today')).toMatch(sums);
    expect(await textOf(`/desk/statement?from=${day(-DAY_MS)}&to=${day(DAY_MS)}`)).toMatch(sums);
  });

  test('in the file, whose columns sum up to the page', async () => {
    const query = `from=${day(-DAY_MS)}&to=${day(DAY_MS)}&format=csv`;
    const { html } = await browser.get(`/desk/statement/file?${query}`);
    const records = z
      .array(z.record(z.string(), z.string()))
      .parse(parse(html, { bom: true, columns: true }));
    const sum = (name: string) =>
      totalsByCurrency(
        records.flatMap((row) => {
          const amount = row[`${name}.amount`];
          return amount ? [cny(amount)] : [];
        }),
      );
    expect([sum('received'), sum('returned')]).toEqual([[cny('175.00')], [cny('125.00')]]);
    expect(sum('laterReturned')).toEqual([cny('25.00')]);
    expect(records.at(-1)?.['endedAt']).toBe('End of the statement: 3 payouts; more may follow');
  });

  test('with one more call to Temporal for any number of payouts, none if none is paid', async () => {
    const call = vi.spyOn(world.client.workflowService, 'listWorkflowExecutions');
    const calls = async (query: string) => {
      call.mockClear();
      const { payouts } = await lastFinished(world.client, `WorkflowType = 'payout' AND ${query}`);
      return [payouts.length, call.mock.calls.length];
    };
    expect(await calls("ExecutionStatus = 'Completed'")).toEqual([3, 2]);
    expect(await calls("PayoutOutcome = 'FAILED'")).toEqual([0, 1]);
    call.mockRestore();
  });
});

test('the timeline has what came back, who acknowledged it, the outcome and seconds', async () => {
  await world.payouts.acknowledge({ partnerOrderId: ids.part }, { by: 'olga', note: 'asked the bank' });
  const path = `/desk/payout?partnerOrderId=${ids.part}`;
  expect(await textOf(path)).toMatch(
    /Received 75\.00 CNY Returned 25\.00 CNY .* Finished: Paid .* Came back: 25\.00 CNY.* Flags acknowledged by olga: asked the bank /,
  );
  expect((await browser.get(path)).html).toMatch(/<time datetime="[^"]+" data-exact>/);
  const { partnerOrderId } = await world.pay('failure');
  await world.payouts.result({ partnerOrderId });
  const { html } = await browser.get(`/desk/payout?partnerOrderId=${partnerOrderId}`);
  expect(html).toMatch(/<li class="bad"><p>Finished: <span class="faint">Failed</);
});

test('amounts have what was debited, beside a quote that differs', async () => {
  const { partnerOrderId } = await world.pay('drift final=0s');
  await world.payouts.result({ partnerOrderId });
  const text = await textOf(`/desk/payout?partnerOrderId=${partnerOrderId}`);
  expect(text).toMatch(/Amounts Debited \d+\.\d\d USD \(quoted \d+\.\d\d\)/);
  expect(await textOf(`/desk/payout?partnerOrderId=${ids.kept}`)).toMatch(
    /Amounts Payer pays \d+\.\d\d USD Ordered/,
  );
});

test('an invalid period or amount keeps the form, and says what is wrong at its field', async () => {
  const period = await browser.get('/desk/statement?from=2026-03-02&to=2026-03-01');
  expect(period.status).toBe(400);
  expect(period.html).toMatch(/value="2026-03-01"[^>]*aria-invalid="true"[^>]*><p class="error"[^>]*>Before/);
  expect(period.html).not.toContain('Download');
  const list = await browser.get('/desk/payouts?createdFrom=2026-03-01T10:00&createdTo=never');
  expect(list.status).toBe(400);
  expect(list.html).toContain('value="2026-03-01T10:00"');
  expect(list.html).toMatch(
    /value="never" aria-invalid="true"[^>]*><p class="error"[^>]*>Created before must/,
  );
});
