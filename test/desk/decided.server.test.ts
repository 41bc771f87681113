/** After a decision, HTTP, the command line and the desk show the state after it, and an ended payout keeps no open flag. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endedPayout, notifyFollowUp } from '../../src/client/follow-ups.ts';
import { Pauses } from '../../src/client/leases.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { PAYOUTS_TASK_QUEUE, payoutWorkflowId } from '../../src/contract/ids.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { link } from '../../src/desk/html.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { DeskBrowser, startDesk } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, type TestApiServer } from '../support/http.ts';
import { reconcile } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let server: TestApiServer;
const run = (...args: string[]) => cli(world.workerEnvironment, args);
const path = ({ partnerOrderId }: PayoutRef) => `${server.url}/v1/payouts/${partnerOrderId}`;
const decide = (ref: PayoutRef, verb: string, body: string | object = '', by = 'desk') =>
  post(`${path(ref)}/${verb}`, body, as(by));

beforeAll(async () => {
  world = await VirtualWorld.start({
    env: { PAYOUTS_APPROVAL_EXPIRES: '1h', PAYOUTS_FOLLOW_UP: '1s,1h' },
  });
  server = await startDesk(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      ...['desk', 'shop'].map((name) => callerEntry(name)),
      callerEntry('reader', { verbs: ['read'] }),
    ]),
  });
});
afterAll(async () => {
  await server.close();
  await world.stop();
});

async function awaiting(over: Partial<PayoutRequest> = {}): Promise<PayoutRef> {
  const ref = await world.pay('success', { approval: 'required', ...over });
  await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
  return ref;
}

/** A doubtful start that finds another order under its partnerOrderId goes to review without a wait. */
async function reviewed(): Promise<PayoutRef> {
  const body = payoutRequest(newPartnerOrderId());
  const { partnerOrderId } = body;
  world.simulator.control.plantOrder({ partnerOrderId, scenario: 'slow final=1h' });
  const workflowId = payoutWorkflowId('default', partnerOrderId);
  await world.client.workflow.start('payout', { taskQueue: PAYOUTS_TASK_QUEUE, workflowId, args: [body] });
  await world.until(body, ({ phase }) => phase === 'NEEDS_REVIEW');
  return { partnerOrderId };
}

describe('H205 a decision shows the state after it', () => {
  test('over HTTP', async () => {
    const { status, body } = await decide(await awaiting(), 'approve');
    expect(status).toBe(200);
    expect(body).toMatchObject({ phase: 'CREATING', sentence: 'Approved by desk. Creating the order.' });
    const refused = await decide(await awaiting(), 'refuse');
    expect(refused.body).toMatchObject({ phase: 'DONE', reason: { code: 'APPROVAL_REFUSED' } });
    const resolved = await decide(await reviewed(), 'resolve', { created: false, then: 'end' });
    expect(resolved.body).toMatchObject({
      ...{ phase: 'DONE', outcome: 'NOT_CREATED' },
      // The other order is a fact, and no question.
      reasons: [{ code: 'ORDER_DIFFERS_FROM_REQUEST' }],
      decisions: [{ action: 'resolve', by: 'desk' }],
    });
  });

  test('on the command line', async () => {
    const { partnerOrderId } = await awaiting();
    const approved = await run('approve', partnerOrderId, '--by', 'olga');
    expect(approved.stdout).toContain('Approved by olga. Creating the order.');
    expect(approved.stdout).not.toContain('Approve, refuse');
    const inReview = await reviewed();
    const resolved = await run('resolve', inReview.partnerOrderId, '--by', 'olga', '--not-created', 'end');
    expect(resolved.stdout).toMatch(/DONE[\s\S]*NOT_CREATED/);
    expect(resolved.stdout).not.toContain('NEEDS_REVIEW');
  });
});

describe('H207 the story of a payout', () => {
  test('an update that was refused after its acceptance is no decision', async () => {
    const ref = await reviewed();
    const browser = new DeskBrowser(server.url);
    await browser.signIn('key-of-desk');
    const page = `/desk/payout?partnerOrderId=${ref.partnerOrderId}`;
    await browser.get(page);
    const form = { app: 'default', partnerOrderId: ref.partnerOrderId };
    const named = { ...form, decision: 'created', orderId: 'PO-of-nobody' };
    expect((await browser.post('/desk/payouts/resolve', named)).status).toBe(409);
    const again = await browser.post('/desk/payouts/resolve', { ...form, decision: 'retry' });
    expect(again.status).toBe(400);
    expect(again.html).toMatch(/You didn't resolve the review: confirm that the payment is sent again/);
    const refused = await browser.get(page);
    expect(refused.html).toContain('Resolve by desk was not accepted');
    expect(refused.html).toMatch(/rder PO-of-nobody could not be read/);
    expect(refused.html).not.toContain('Review resolved');
    expect(
      (await browser.post('/desk/payouts/resolve', { ...form, decision: 'end', closes: 'yes' })).status,
    ).toBe(303);
    const ended = await browser.get(page);
    expect(ended.html).toContain('Review resolved by desk');
    expect(ended.html).not.toContain('Needs review');
  });
});

describe('decisions about several payouts at once', () => {
  const pick = async (ref: PayoutRef, lockRateId = '') => {
    const { quote } = await world.payouts.state(ref);
    const { partnerOrderId } = ref;
    return JSON.stringify({ app: 'default', partnerOrderId, lockRateId: lockRateId || quote?.lockRateId });
  };
  const resultOf = (html: string, { partnerOrderId }: PayoutRef) =>
    html
      .split('<tr>')
      .find((row) => row.includes(`>${partnerOrderId}</a>`))
      ?.replaceAll(/<[^>]*>/g, ' ');

  test('H307 each applies to the terms that were shown; H308 each is reported, whatever becomes of the others', async () => {
    const [good, requoted, ended] = [await awaiting(), await awaiting(), await awaiting()];
    await decide(ended, 'refuse');
    const browser = new DeskBrowser(server.url);
    await browser.signIn('key-of-desk');
    await browser.get('/desk');
    const picks = {
      'pick-0': await pick(requoted, 'another-quote'),
      'pick-1': JSON.stringify({ app: 'default', partnerOrderId: ended.partnerOrderId }),
      'pick-2': JSON.stringify({ app: 'default', partnerOrderId: 'no-such-payout' }),
      'pick-3': await pick(good),
    };
    const confirm = await browser.get(link('/desk/payouts/confirm-approve', picks));
    expect(confirm.html).toContain('Approve 1 payout?');
    expect(confirm.html).toMatch(/its quote has changed[\s\S]*does not wait for approval any more/);
    // It is bound to the quote of the list, and nothing is decided yet.
    const { quote } = await world.payouts.state(good);
    expect(confirm.html.match(/name="pick-\d+"/g)).toHaveLength(1);
    expect(confirm.html).toContain(quote?.lockRateId);
    expect((await world.payouts.state(good)).phase).toBe('AWAITING_APPROVAL');
    const { status, headers } = await browser.post('/desk/payouts/approve-chosen', picks);
    expect(status).toBe(303);
    const { html } = await browser.get(String(headers['location']));
    expect(html).toContain('Approved 1 of 4');
    expect(resultOf(html, good)).toMatch(/100\.00\s+CNY\s+Approved\s+by desk, /);
    expect(resultOf(html, requoted)).toMatch(/100\.00\s+CNY\s+Not approved\s+its quote has changed/);
    expect(resultOf(html, ended)).toMatch(/100\.00\s+CNY\s+Refused\s+by desk, /);
    expect(resultOf(html, { partnerOrderId: 'no-such-payout' })).toMatch(/Not approved\s+\S+/);
    expect((await world.payouts.result(good)).outcome).toBe('SUCCESS');
    expect((await world.payouts.state(requoted)).phase).toBe('AWAITING_APPROVAL');
  });

  test('need a choice, and a permission', async () => {
    const browser = new DeskBrowser(server.url);
    await browser.signIn('key-of-desk');
    await browser.get('/desk');
    expect((await browser.post('/desk/payouts/approve-chosen')).status).toBe(400);
    expect((await browser.post('/desk/payouts/approve-chosen', { 'pick-0': '{"app":1}' })).status).toBe(400);
    const reader = new DeskBrowser(server.url);
    await reader.signIn('key-of-reader');
    await reader.get('/desk');
    expect((await reader.post('/desk/payouts/refuse-chosen')).status).toBe(403);
  });
});

describe('H206 the flags of a payout that has ended', () => {
  /** Temporal's own cancellation, which came too late. */
  async function flagged(): Promise<PayoutRef> {
    const { ref, release } = await world.payHeld('before', 'success');
    await world.payouts.handle(ref).cancel();
    release();
    await world.payouts.result(ref);
    await isListed(ref, true);
    return ref;
  }

  const listed = async ({ partnerOrderId }: PayoutRef) => {
    const { body } = await get(`${server.url}/v1/payouts?attention=true&limit=100`, as('desk'));
    return JSON.stringify(body).includes(partnerOrderId);
  };
  const isListed = (ref: PayoutRef, wanted: boolean) =>
    eventually(async () => (await listed(ref)) === wanted || undefined);

  test('are acknowledged by name over HTTP, and leave the lists', async () => {
    const ref = await flagged();
    expect((await decide(ref, 'acknowledge', '', 'reader')).status).toBe(403);
    const { status, body } = await decide(ref, 'acknowledge', { note: 'canceled by hand' });
    expect(status).toBe(200);
    const acknowledged = { by: 'desk', note: 'canceled by hand', reasons: [{ code: 'CANCEL_TOO_LATE' }] };
    const after = { phase: 'DONE', outcome: 'SUCCESS', needsAttention: false, reasons: [], acknowledged };
    expect(body).toMatchObject(after);
    expect((await get(path(ref), as('desk'))).body).toMatchObject({ state: after });
    await isListed(ref, false);
    // The first acknowledgement stays.
    expect((await decide(ref, 'acknowledge', '', 'shop')).body).toMatchObject({ acknowledged });
  });

  test('on the command line and on the desk', async () => {
    const [first, second] = [await flagged(), await flagged()];
    const done = await run('acknowledge', first.partnerOrderId, '--by', 'olga');
    expect(done.stdout).toMatch(/acknowledged +CANCEL_TOO_LATE by olga/);
    const browser = new DeskBrowser(server.url);
    await browser.signIn('key-of-desk');
    const page = `/desk/payout?partnerOrderId=${second.partnerOrderId}`;
    expect((await browser.get(page)).html).toContain('Acknowledge the flags');
    const form = { app: 'default', partnerOrderId: second.partnerOrderId, note: 'seen' };
    expect((await browser.post('/desk/payouts/acknowledge', form)).status).toBe(303);
    const { html } = await browser.get(page);
    expect(html).toMatch(/Cancel too late by desk/);
    expect(html).not.toContain('Acknowledge the flags');
    for (const ref of [first, second]) await isListed(ref, false);
    const { stdout } = await run('list', '--attention', '--json');
    for (const { partnerOrderId } of [first, second]) expect(stdout).not.toContain(partnerOrderId);
  });

  test('an open payout, or one without a flag, has nothing to acknowledge', async () => {
    const open = await decide(await awaiting(), 'acknowledge');
    expect([open.status, open.body]).toMatchObject([409, { detail: expect.stringMatching(/has not ended/) }]);
    const ref = await world.pay('success');
    await world.payouts.result(ref);
    const none = await run('acknowledge', ref.partnerOrderId, '--by', 'olga');
    expect(none.code).toBe(4);
    expect(none.stderr).toContain('the payout has no flag');
    expect((await run('acknowledge', 'no-such-payout', '--by', 'olga')).code).toBe(3);
  });

  test('H208 what the follow-up finds later needs attention again', async () => {
    const ref = await world.pay('split splits=3');
    await world.payouts.result(ref);
    const refund = (index: number) => ({ index, refund: true, refundReason: 'account closed' });
    const { control } = world.simulator;
    control.changeOrder(ref.partnerOrderId, { splits: [refund(0)] });
    await eventually(async () => {
      await reconcile(world);
      return (await listed(ref)) || undefined;
    });
    const browser = new DeskBrowser(server.url);
    await browser.signIn('key-of-desk');
    const page = `/desk/payout?partnerOrderId=${ref.partnerOrderId}`;
    const [, readAt = ''] = /name="readAt" value="([^"]+)"/.exec((await browser.get(page)).html) ?? [];
    expect(Date.parse(readAt)).toBeGreaterThan(0);
    expect((await browser.get('/desk')).html).toContain(`name="readAt" value="${readAt}"`);
    const { body } = await decide(ref, 'acknowledge', { readAt });
    expect(body).toMatchObject({ acknowledged: { reasons: [{ code: 'MONEY_RETURNED' }] } });
    const { html } = await browser.get(page);
    expect(html.replaceAll(/<[^>]*>/g, '')).toMatch(
      /100\.00 CNY Partly returned[\s\S]*, then \d+\.\d\d CNY came back\./,
    );
    await isListed(ref, false);
    control.changeOrder(ref.partnerOrderId, { splits: [refund(1)] });
    const ended = await endedPayout(world.client, payoutWorkflowId('default', ref.partnerOrderId));
    if (ended)
      await notifyFollowUp(world.client, ended, { receivedAt: new Date(world.clock.wallMs()).toISOString() });
    await isListed(ref, true);
    // From a page that shows only what came back first.
    const id = { app: 'default', partnerOrderId: ref.partnerOrderId };
    const old = await browser.post('/desk/payouts/acknowledge', { ...id, readAt });
    expect(old.status).toBe(409);
    expect(old.html).toContain('the follow-up has found more than you saw');
    await isListed(ref, true);
    expect((await decide(ref, 'acknowledge', { readAt: 'yesterday' })).status).toBe(400);
  });
});

test('H344 the button of an old page does not end a later pause', async () => {
  const pauses = new Pauses({ client: world.client, environment: 'test' });
  const browser = new DeskBrowser(server.url);
  await browser.signIn('key-of-desk');
  const pausedAt = async () => {
    const find = async () => /name="pausedAt" value="([^"]+)"/.exec((await browser.get('/desk')).html)?.[1];
    return eventually(find);
  };
  const resume = (at: string) => browser.post('/desk/resume', { app: 'default', pausedAt: at });
  await pauses.pause('default', { by: 'olga', reason: 'a rumor' });
  const first = await pausedAt();
  await pauses.resume('default', { by: 'olga' });
  await pauses.pause('default', { by: 'olga', reason: 'the bank has failed' });
  const late = await resume(first);
  expect([late.status, late.html]).toMatchObject([
    409,
    expect.stringContaining('the pause on the page is over: olga paused'),
  ]);
  expect((await pauses.state('default')).paused).toMatchObject({ reason: 'the bank has failed' });
  const second = await eventually(async () => {
    const at = await pausedAt();
    return at !== undefined && at !== first ? at : undefined;
  });
  expect((await resume(second)).status).toBe(303);
  expect((await pauses.state('default')).paused).toBeNull();
});
