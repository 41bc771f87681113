/** `/desk/find`: what the search box of every page finds. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  type ListedPayout,
  type PayoutFilter,
  type PayoutPage,
  payoutFilterSchema,
} from '../contract/lists.ts';
import { mayList } from '../domain/permissions.ts';
import { payoutId } from '../service/requests.ts';
import { appsOf, type Desk, filledIn, getPage } from './context.ts';
import { empty, type Html, html, link, payoutLink } from './html.ts';
import type { Visit } from './identity.ts';
import { payoutTable } from './payouts.ts';
import { typedAmount } from './typed-amount.ts';

/** The maximum number of payouts that each search returns. */
const MOST = 25;
/** How many of the latest payouts are searched for parts of their texts. */
const LAST = 100;

export function findRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/find', async (visit, query, reply) => {
    const { q = '' } = filledIn(query, 'q');
    if (q === '') return reply.redirect('/desk/payouts', 303);
    const [path, other] = await pathsOf(desk, visit, q, reply);
    if (path !== undefined && other === undefined) return reply.redirect(path, 303);
    const frame = { title: 'Search', section: 'Payouts', search: q } as const;
    if (!mayList(visit.caller))
      return {
        ...frame,
        content: empty(
          html`No payout has the ID <bdi>${q}</bdi>`,
          'Your key is limited: the search finds whole IDs only.',
        ),
      };
    const { found, partly, groups, isAll } = await payoutsLike(desk, visit, q);
    return {
      ...frame,
      content: html`${!isAll && !desk.config.keys.search && html`<p class="warning" role="status">Only IDs are searched completely, and the last ${LAST} payouts for everything else. Ask your administrator for search keys to search all payouts.</p>`}${
        partly > 0 &&
        !isAll &&
        desk.config.keys.search &&
        html`<p class="warning" role="status">${partly} of these ${partly === 1 ? 'matches' : 'match'} only a part, such as the beginning of a word. Earlier payouts than the last ${LAST} are found by whole words, whole numbers and the last four characters of an account.</p>`
      }${groups.map(moreOf)}${
        found.length === 0
          ? empty(
              html`Nothing matches “<bdi>${q}</bdi>”`,
              html`${desk.config.keys.search && ABOUT} <a href="/desk/payouts">Show all payouts</a>.`,
            )
          : payoutTable(found, html`${found.length} for “<bdi>${q}</bdi>”`)
      }${found.length > 0 && desk.config.keys.search && html`<p class="faint">${ABOUT}</p>`}`,
    };
  });
}

const ABOUT = `Finds all payouts by whole words of a name, the last four characters or all of an account number, an amount, a client, a batch, or the beginning of an ID. Parts of words only among the last ${LAST} payouts.`;

/** What each kind of search has found, at most `MOST`. `path`: the list of all. */
interface Group {
  by: string;
  path?: string;
  page: PayoutPage;
}

function moreOf({ by, path, page }: Group): Html | undefined {
  if (page.nextCursor === undefined) return undefined;
  return html`<p class="warning" role="status">More than ${MOST} payouts match by ${by}. ${path === undefined ? 'Type more of it.' : html`<a href="${path}">Show all of them</a>.`}</p>`;
}

/** The pages of payouts with this id. Lists lag, and leave out what a caller with a limited key may read by its id. */
async function pathsOf(desk: Desk, visit: Visit, q: string, reply: FastifyReply): Promise<string[]> {
  const read = appsOf(visit).map(async (app) => {
    const { data: id } = payoutId.safeParse({ app, partnerOrderId: q });
    if (!id) return [];
    return desk.service.payoutStart(visit.caller, id).then(
      () => [payoutLink(id)],
      (error: unknown) => {
        if (desk.toProblem(error, reply.request).status === 404) return [];
        throw error;
      },
    );
  });
  return (await Promise.all(read)).flat();
}

/** How pages and people mark the end of an account: `··0555`, `ending in 0555`. */
const END_MARKS = /^(?:ending in\s+)?(?:[.·•*]{2,}|…)?\s*(?=\S)/i;

async function payoutsLike({ service, config }: Desk, visit: Visit, text: string) {
  const { caller } = visit;
  const q = text.replace(END_MARKS, '');
  const list = async (filter: PayoutFilter, limit = MOST): Promise<PayoutPage> =>
    payoutFilterSchema.safeParse(filter).success
      ? service.listPayouts(caller, { ...filter, limit })
      : { payouts: [] };
  const last = await list({}, LAST);
  const typed = typedAmount(q);
  const known = last.payouts.flatMap(({ instructedAmount }) => instructedAmount?.currency ?? []);
  const currencies = new Set(
    typed?.currency ? [typed.currency] : [...config.PAYMENTS_TARGET_CURRENCIES, ...known],
  );
  const searches: (readonly [by: string, filter: Readonly<Record<string, string>>])[] = [
    ...([
      ['name', { beneficiaryWords: q }],
      ['account', { account: q }],
    ] as const),
    ...([
      ['end of the account', { accountEnd: q }],
      ['client', { clientId: q }],
    ] as const),
    ['batch', { batch: q }],
    ...[...currencies].map(
      (currency) => ['amount', { amount: `${typed?.amount ?? ''} ${currency}` }] as const,
    ),
  ];
  const groups: Group[] = await Promise.all([
    ...appsOf(visit).map(async (app) => ({ by: 'ID', page: await list({ app, idPrefix: q }) })),
    ...(config.keys.search
      ? searches.map(async ([by, filter]) => ({
          by,
          path: link('/desk/payouts', filter),
          page: await list(filter),
        }))
      : []),
  ]);
  const whole = groups.flatMap(({ page }) => page.payouts);
  const amount = typed ? `${typed.amount}${typed.currency ? ` ${typed.currency}` : ''}` : q.toUpperCase();
  const like = last.payouts.filter((one) => isLike(one, q.toLowerCase(), amount));
  const ofWhole = new Set(whole.map((one) => payoutLink(one)));
  const found = [...new Map([...whole, ...like].map((one) => [payoutLink(one), one])).values()];
  // A search that is cut says so itself: those it leaves out are no parts.
  const isCut = groups.some(({ page }) => page.nextCursor !== undefined);
  const isAll = last.nextCursor === undefined;
  return { found, partly: isCut ? 0 : found.length - ofWhole.size, groups, isAll };
}

function isLike(
  { partnerOrderId, beneficiary, accountEnd, clientId, batch, orderId, instructedAmount }: ListedPayout,
  text: string,
  amount: string,
): boolean {
  const { amount: digits = '', currency = '' } = instructedAmount ?? {};
  return (
    [partnerOrderId, beneficiary, accountEnd, clientId, batch, orderId].some((one) =>
      one?.toLowerCase().includes(text),
    ) || `${digits} ${currency}`.startsWith(amount)
  );
}
