import { expect, onTestFinished, test } from 'vitest';
import { callerEntry, keysFile } from '../support/callers.ts';
import { DeskBrowser, startDesk, uploadBatch } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const OWN = { clientId: 'client-2', payerId: 'payer-2' };
const scope = { clientIds: ['client-2'], payerIds: ['payer-2'] };
/** As many as a page shows. */
const PAGE = 20;

async function stage() {
  const world = await VirtualWorld.start();
  const server = await startDesk(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([
      callerEntry('all'),
      callerEntry('scoped', scope),
      callerEntry('prefixed', { ...scope, idPrefix: 'b-' }),
      callerEntry('user', { ...scope, openIds: ['user-2'] }),
      callerEntry('listing-user', { ...scope, openIds: ['user-2'], idPrefix: 'b-' }),
    ]),
  });
  onTestFinished(async () => {
    await server.close();
    await world.stop();
  });
  const signedIn = async (name: string) => {
    const browser = new DeskBrowser(server.url);
    await browser.signIn(`key-of-${name}`);
    return browser;
  };
  const waits = async (ids: readonly string[], over: object) => {
    for (const id of ids) await world.payouts.start(payoutRequest(id, { approval: 'required', ...over }));
    for (const partnerOrderId of ids)
      await world.until({ partnerOrderId }, ({ phase }) => phase === 'AWAITING_APPROVAL');
  };
  /** Lists lag: until an unlimited key sees so many. */
  const listed = async (count: number) => {
    const browser = await signedIn('all');
    await eventually(async () =>
      new RegExp(`\\b${count} payouts, |${PAGE} of ${count} payouts`).test((await browser.get('/desk')).html)
        ? true
        : undefined,
    );
  };
  return { world, server, signedIn, waits, listed };
}

const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${prefix}-${String(at).padStart(2, '0')}`);
const moreOf = (html: string) => /<a class="button plain" href="([^"]+)#\w+">Show more/.exec(html)?.[1];
const rowsIn = (html: string) => new Set(html.match(/\b[ab]-\d\d\b/g));

test('H354 the inbox of a limited key tells nothing of the payouts of others', async () => {
  const { signedIn, waits, listed } = await stage();
  const pageOf = async (name: string, path = '/desk') => (await (await signedIn(name)).get(path)).html;
  await waits(ids('b', PAGE), OWN);
  await listed(PAGE);
  await waits(ids('a', 5), {});
  await listed(PAGE + 5);
  for (const name of ['scoped', 'prefixed']) {
    const html = await pageOf(name);
    expect([rowsIn(html), moreOf(html)]).toEqual([new Set(ids('b', PAGE)), undefined]);
    expect(html).toContain(`${PAGE} payouts, oldest first`);
    expect(html).toContain('Review all 20 for approval');
  }
  const ofUser = await pageOf('user');
  expect([rowsIn(ofUser), moreOf(ofUser)]).toEqual([new Set(), undefined]);
  await waits(['b-50'], { ...OWN, openId: 'user-2' });
  await listed(PAGE + 6);
  expect(rowsIn(await pageOf('user'))).toEqual(new Set(['b-50']));
  for (const path of ['/desk', '/desk/payouts'])
    expect(rowsIn(await pageOf('listing-user', path))).toEqual(new Set(['b-50']));

  // One more of its own is on the next page.
  await waits(['b-99'], OWN);
  await listed(PAGE + 7);
  for (const name of ['scoped', 'prefixed']) {
    const more = moreOf(await pageOf(name));
    expect(more).toMatch(/approvals=0\+\S+\+default\+b-19$/);
    const next = await pageOf(name, more);
    expect(rowsIn(next)).toEqual(new Set(['b-50', 'b-99']));
    expect(moreOf(next)).toBeUndefined();
  }
});

test('H354 flagged payouts of others take no place on the pages of a limited key', async () => {
  const { world, signedIn } = await stage();
  const flagged = async (all: readonly string[], over: object) => {
    for (const partnerOrderId of all) await world.pay('returned', { partnerOrderId, ...over });
    for (const partnerOrderId of all)
      await world.until({ partnerOrderId }, ({ needsAttention }) => needsAttention);
  };
  await flagged(['b-00', 'b-01'], OWN);
  await flagged(ids('a', PAGE), {});
  const pageOf = async (name: string, path = '/desk') => (await (await signedIn(name)).get(path)).html;
  const pageWith = (name: string, rows: readonly string[]) =>
    eventually(async () => {
      const html = await pageOf(name);
      return rows.every((id) => rowsIn(html).has(id)) ? html : undefined;
    });
  expect(moreOf(await pageWith('all', ids('a', PAGE)))).toBeDefined();
  for (const name of ['scoped', 'prefixed']) {
    const html = await pageOf(name);
    expect([rowsIn(html), moreOf(html)]).toEqual([new Set(['b-00', 'b-01']), undefined]);
  }

  await flagged(ids('b', PAGE).slice(2), OWN);
  await flagged(['b-99'], OWN);
  const newest = [...ids('b', PAGE).slice(1), 'b-99'];
  for (const name of ['scoped', 'prefixed']) {
    const more = moreOf(await pageWith(name, newest));
    const next = await pageOf(name, more);
    expect([rowsIn(next), moreOf(next)]).toEqual([new Set(['b-00']), undefined]);
  }
});

test('H355 the preview of a batch does not tell a limited key which ids others have', async () => {
  const { server, signedIn, waits, listed } = await stage();
  await waits(['a-03'], {});
  await waits(['b-03'], OWN);
  await listed(2);
  const rows = ['a-03', 'b-03', 'b-04'].map((id) => payoutRequest(id, { ...OWN, approval: 'required' }));
  const { preview } = await uploadBatch(await signedIn('scoped'), server.url, rows);
  expect(preview).toContain('1 ID exists already: 1 the same, 0 differ.');
  const { preview: ofAll } = await uploadBatch(await signedIn('all'), server.url, rows);
  expect(ofAll).toContain('2 IDs exist already: 1 the same, 1 differs.');
});
