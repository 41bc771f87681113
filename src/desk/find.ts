/** `/desk/find`: what the search box of every page finds. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type ListedPayout, type PayoutFilter, payoutFilterSchema } from '../contract/lists.ts';
import { AMOUNT_PATTERN } from '../contract/money.ts';
import { mayList } from '../domain/permissions.ts';
import { payoutId } from '../service/requests.ts';
import { appsOf, type Desk, filledIn, getPage } from './context.ts';
import { empty, html, payoutLink } from './html.ts';
import type { Visit } from './identity.ts';
import { payoutTable } from './payouts.ts';

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
          html`No payout has the id <bdi>${q}</bdi>`,
          'Your key is limited: the search finds whole ids only.',
        ),
      };
    const found = await payoutsLike(desk, visit, q);
    const about = desk.config.keys.search
      ? `Finds the beginning of an id, and a whole name, account number, amount, client or batch. Parts of them only among the last ${LAST} payouts.`
      : `Finds the beginning of an id. Everything else only among the last ${LAST} payouts.`;
    return {
      ...frame,
      content:
        found.length === 0
          ? empty(
              html`Nothing matches “<bdi>${q}</bdi>”`,
              html`${about} <a href="/desk/payouts">Show all payouts</a>.`,
            )
          : html`${payoutTable(found, html`${found.length} for “<bdi>${q}</bdi>”`)}<p class="faint">${about}</p>`,
    };
  });
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

async function payoutsLike({ service, config }: Desk, visit: Visit, q: string): Promise<ListedPayout[]> {
  const { caller } = visit;
  const list = async (filter: PayoutFilter, limit = MOST) =>
    payoutFilterSchema.safeParse(filter).success
      ? (await service.listPayouts(caller, { ...filter, limit })).payouts
      : [];
  const last = await list({}, LAST);
  const amount = q.replaceAll(',', '').toUpperCase();
  const currencies = new Set(last.flatMap(({ instructedAmount }) => instructedAmount?.currency ?? []));
  const amounts = AMOUNT_PATTERN.test(amount)
    ? [...currencies].map((currency) => `${amount} ${currency}`)
    : [amount];
  const found = await Promise.all([
    ...appsOf(visit).map((app) => list({ app, idPrefix: q })),
    ...(config.keys.search
      ? [
          ...[{ beneficiary: q }, { account: q }, { clientId: q }, { batch: q }],
          ...amounts.map((one) => ({ amount: one })),
        ].map((filter) => list(filter))
      : []),
  ]);
  const all = [...found.flat(), ...last.filter((one) => isLike(one, q.toLowerCase(), amount))];
  return [...new Map(all.map((one) => [payoutLink(one), one])).values()];
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
