/** Payouts that wait for people: those that the visitor may decide come first, and of these the oldest. */
import { openIn } from '../client/lists.ts';
import type { ListedPayout } from '../contract/lists.ts';
import { inParallel } from '../runtime/runtime.ts';
import { applicationsWithin, visibleRows } from '../service/permissions.ts';
import { type Desk, filledIn, readable } from './context.ts';
import { INBOX } from './counts.ts';
import { mayDecide } from './decisions.ts';
import type { Visit } from './identity.ts';
import { type ReadPayout, readPayout } from './picks.ts';

type Section = 'approvals' | 'reviews';

/** The batch to which a page of the inbox is narrowed. */
export interface Narrowed {
  batch?: string | undefined;
  app?: string | undefined;
}

export function narrowedIn(query: unknown): Narrowed {
  const { batch, app = 'default' } = filledIn(query, 'batch', 'app');
  return batch === undefined ? {} : { batch, app };
}

export interface Waiting {
  /** Those that the visitor may see, as lists know them, in the order in which they are shown. */
  listed: readonly ListedPayout[];
  isCut: boolean;
}

/** One call to Temporal for each thousand. */
export async function waitingIn(
  { client, service }: Desk,
  visit: Visit,
  section: Section,
  narrowed: Narrowed = {},
): Promise<Waiting> {
  const { caller } = visit;
  const { payouts, isCut } = await service.withTemporalDeadline(() =>
    openIn(client, INBOX[section].filter.phase, applicationsWithin(caller), (rows) =>
      visibleRows(caller, rows),
    ),
  );
  payouts.sort((one, other) => (placeOf(visit, one) < placeOf(visit, other) ? -1 : 1));
  return { listed: within(payouts, narrowed), isCut };
}

export function within(listed: readonly ListedPayout[], { batch, app }: Narrowed): readonly ListedPayout[] {
  return batch === undefined ? listed : listed.filter((one) => one.batch === batch && one.app === app);
}

/** How many of them the visitor may decide, as far as lists know. */
export function decidableOf(visit: Visit, listed: readonly ListedPayout[]): readonly ListedPayout[] {
  return listed.filter(({ startedBy }) => mayDecide(visit, { startedBy }));
}

/** Sorts payouts. It also tells a page where the one before it ended, however many were decided meanwhile. */
function placeOf(visit: Visit, { startedBy, startedAt, app, partnerOrderId }: ListedPayout): string {
  return `${mayDecide(visit, { startedBy }) ? 0 : 1} ${startedAt} ${app} ${partnerOrderId}`;
}

/** Lists lag: so many times the payouts of a page are read, at most, to fill it. */
const MOST_PAGES = 5;

/**
 * Reads the first `most` that still wait, after the place `after`. Lists lag: those that no longer wait are left out.
 */
export async function readWaiting(
  { service }: Desk,
  visit: Visit,
  section: Section,
  { listed, after, most }: { listed: readonly ListedPayout[]; after?: string | undefined; most: number },
) {
  const { caller } = visit;
  const { phase } = INBOX[section].filter;
  const read = async (one: ListedPayout) => {
    const payout = { ...(await readPayout(service, caller, one)), startedAt: one.startedAt };
    // Without a worker, nobody knows its terms (H360).
    if (payout.state.stale) throw new Error('no worker responds');
    return payout.state.phase === phase ? payout : undefined;
  };
  const rest = after === undefined ? listed : listed.filter((one) => placeOf(visit, one) > after);
  const found: (ReadPayout | ListedPayout)[] = [];
  let at = 0;
  for (let page = 0; page < MOST_PAGES && at < rest.length && found.length < most; page += 1) {
    const slice = rest.slice(at, at + most - found.length);
    at += slice.length;
    const some = await inParallel(slice, (one) => readable(caller, () => read(one), one));
    found.push(...some.filter((one) => one !== undefined));
  }
  const last = rest[at - 1];
  return {
    shown: found.filter((one) => 'state' in one),
    /** Those that could not be read. */
    unread: found.filter((one) => !('state' in one)),
    /** How many of the list no longer wait. */
    gone: at - found.length,
    nextCursor: at < rest.length && last ? placeOf(visit, last) : undefined,
  };
}
