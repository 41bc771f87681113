/** Reads the payouts of a list one by one: the request, which says whose they are, and the state. */
import type { PayoutPage } from '../client/lists.ts';
import type { PayoutStart } from '../client/payouts.ts';
import type { Caller } from '../config/callers.ts';
import { isScoped } from '../domain/permissions.ts';
import { requirePayoutScope } from '../service/permissions.ts';
import { Problem } from '../service/problem.ts';
import type { ShownState } from './acting.ts';
import type { Desk } from './context.ts';
import type { PayoutId } from './html.ts';

/** Each payout costs three calls to Temporal and a query to a worker. */
export const PAYOUTS_PER_PAGE = 20;

export interface ReadPayout extends PayoutId, PayoutStart {
  state: ShownState;
}

interface ReadPage {
  payouts: ReadPayout[];
  /** Payouts that could not be read now, such as those without a worker. */
  unread: PayoutId[];
  nextCursor?: string | undefined;
}

/**
 * A page of the open payouts in `phase`. Visibility lags, and does not know whose a payout is, so each is read: payouts
 * outside the scope of the caller, or no longer in the phase, are left out.
 */
export async function openPayouts(
  { clients }: Desk,
  caller: Caller,
  phase: 'AWAITING_APPROVAL' | 'NEEDS_REVIEW',
  cursor: string | undefined,
): Promise<ReadPage> {
  const { payouts, withTemporalDeadline } = clients;
  const apps = applicationsWithin(caller);
  const { payouts: listed, nextCursor }: PayoutPage = await withTemporalDeadline(() =>
    payouts.listPage({ phase, ...(apps && { apps }) }, { limit: PAYOUTS_PER_PAGE, cursor }),
  );
  const read = await Promise.all(
    listed.filter(({ workflow }) => workflow === 'RUNNING').map((one) => readPayout(clients, caller, one)),
  );
  const known = read.filter((one) => one !== undefined);
  return {
    payouts: known.filter((one) => 'state' in one).filter(({ state }) => state.phase === phase),
    unread: known.filter((one) => !('state' in one)),
    nextCursor,
  };
}

/** Undefined: every application. */
export function applicationsWithin({ applications }: Caller): string[] | undefined {
  return applications === 'any' ? undefined : [...applications];
}

/** Undefined if the payout is outside the scope. Without `state` if it cannot be read now. */
async function readPayout(
  { payouts, withTemporalDeadline }: Desk['clients'],
  caller: Caller,
  { app, partnerOrderId }: PayoutId,
): Promise<ReadPayout | PayoutId | undefined> {
  const id = { app, partnerOrderId };
  try {
    const start = await withTemporalDeadline(() => payouts.startDetails(id));
    requirePayoutScope(caller, start.request);
    return { ...id, ...start, state: await withTemporalDeadline(() => payouts.state(id)) };
  } catch (error) {
    if (error instanceof Problem) return undefined;
    return isScoped(caller) ? undefined : id;
  }
}
