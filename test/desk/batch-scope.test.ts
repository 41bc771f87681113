/** The batches of others for a key that is limited to clients and a prefix. */
import { expect, onTestFinished, test } from 'vitest';
import { PAYOUTS_TASK_QUEUE, payoutWorkflowId } from '../../src/contract/ids.ts';
import { APP } from '../../src/temporal/namespace.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { DeskBrowser, startDesk } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { get, post } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const limited = (number: number) => ({
  ...{ idPrefix: 'acme-', largestAmount: { CNY: '1000.00' } },
  ...{ clientIds: [`client-${number}`], payerIds: [`payer-${number}`] },
});

async function twoTenants() {
  const world = await VirtualWorld.start();
  const server = await startDesk(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('one', limited(1)), callerEntry('nine', limited(9))]),
  });
  onTestFinished(async () => {
    await server.close();
    await world.stop();
  });
  return { world, server };
}

test('H358 the page of a batch shows a limited key only the rows that its results show', async () => {
  const { world, server } = await twoTenants();
  const row = (id: string, amount: string) => {
    const known = payoutRequest(`acme-${id}`, { platform: 'sim:success' });
    return {
      ...known,
      ...{ clientId: 'client-9', payerId: 'payer-9' },
      instructedAmount: { currency: 'CNY', amount },
      receiver: { ...known.receiver, bankAccountName: `Secret Payee ${id}` },
    };
  };
  const v1 = `${server.url}/v1`;
  // One payout that the batch joins, and one that differs from its row.
  for (const body of [row('taken', '50.00'), row('joined', '777.00')]) {
    expect((await post(`${v1}/payouts`, body, as('nine'))).status).toBe(202);
    await world.until(body, ({ phase }) => phase === 'DONE');
  }
  const payouts = [row('own', '123.45'), row('taken', '999.00'), row('joined', '777.00')];
  const started = await post(`${v1}/payout-batches`, { batchId: 'acme-b', payouts }, as('nine'));
  expect(started.status).toBe(202);
  await eventually(async () => {
    const { body } = await get(`${v1}/payout-batches/acme-b`, as('nine'));
    return JSON.stringify(body).includes('"DONE"') || undefined;
  });
  const results = await get(`${v1}/payout-batches/acme-b/results`, as('one'));
  expect(results.body).toMatchObject({ payouts: [] });
  const browser = new DeskBrowser(server.url);
  await browser.signIn('key-of-one');
  const { html, status } = await browser.get('/desk/batch?app=default&batchId=acme-b');
  expect(status).toBe(200);
  for (const theirs of ['Secret Payee', '123.45', '777.00', '999.00']) expect(html).not.toContain(theirs);
});

test('H363 a limited key cancels no batch of another caller, as it cancels no payout', async () => {
  const { server } = await twoTenants();
  const v1 = `${server.url}/v1`;
  const row = payoutRequest('acme-slow', {
    platform: 'sim:slow final=1h',
    ...{ clientId: 'client-9', payerId: 'payer-9' },
  });
  const batch = { batchId: 'acme-c', payouts: [row] };
  expect((await post(`${v1}/payout-batches`, batch, as('nine'))).status).toBe(202);
  const cancel = async (name: string) =>
    (await post(`${v1}/payout-batches/acme-c/cancel`, '', as(name))).status;
  expect((await post(`${v1}/payouts/acme-slow/cancel`, '', as('one'))).status).toBe(404);
  expect(await cancel('one')).toBe(404);
  expect(await cancel('nine')).toBe(202);
});

test('H368 a row is paid that joined a payout of a program without our memo', async () => {
  const { world, server } = await twoTenants();
  const body = payoutRequest('acme-other', { platform: 'sim:success' });
  await world.client.workflow.start('payout', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: payoutWorkflowId('default', body.partnerOrderId),
    args: [body],
    memo: { environment: 'test', rejectDuplicate: true },
    typedSearchAttributes: [{ key: APP, value: 'default' }],
  });
  await world.until(body, ({ phase }) => phase === 'DONE');
  const batch = { batchId: 'acme-d', payouts: [body] };
  expect((await post(`${server.url}/v1/payout-batches`, batch, as('one'))).status).toBe(202);
  const browser = new DeskBrowser(server.url);
  await browser.signIn('key-of-one');
  const html = await eventually(async () => {
    const page = await browser.get('/desk/batch?app=default&batchId=acme-d');
    return page.html.includes('1 paid') ? page.html : undefined;
  });
  expect(html).toContain('1 row joined an earlier payout, and pays nothing');
  expect(html).not.toContain('Not started');
});
