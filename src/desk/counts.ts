/** How much waits in each section of the inbox, as its pages list it. */
import { SharedReads } from '../client/shared-reads.ts';
import type { Caller } from '../config/callers.ts';
import type { ListedPayout, PayoutFilter } from '../contract/lists.ts';
import { isScoped, mayList } from '../domain/permissions.ts';
import type { Clock } from '../runtime/runtime.ts';
import type { Service } from '../service/service.ts';

/** The sections of the inbox: what they list, and how they are called. */
export const INBOX = {
  approvals: { title: 'Awaiting approval', filter: { phase: 'AWAITING_APPROVAL' } },
  reviews: { title: 'In review', filter: { phase: 'NEEDS_REVIEW' } },
  attention: { title: 'Flagged', filter: { attention: true } },
} as const satisfies Record<string, { title: string; filter: PayoutFilter }>;

export type InboxSection = keyof typeof INBOX;
export const INBOX_SECTIONS = ['approvals', 'reviews', 'attention'] as const;
/** `100+` if there are more. */
export type Counts = Readonly<Record<InboxSection, string>>;

/** The maximum that is counted in a section. */
export const MOST_COUNTED = 100;
const FRESH_MS = 5_000;

/** The payouts in a decision are flagged too: each payout is in one section. */
export function isIn(
  section: InboxSection,
  { phase, workflow }: Pick<ListedPayout, 'phase' | 'workflow'>,
): boolean {
  const decided =
    workflow === 'RUNNING' &&
    [INBOX.approvals.filter.phase, INBOX.reviews.filter.phase].some((one) => one === phase);
  return section === 'attention' ? !decided : decided;
}

/** Undefined for a caller who cannot list, who would learn about others' payouts. */
export function sharedCounts(service: Service, clock: Clock) {
  const reads = new SharedReads<Counts>({ freshMs: FRESH_MS, clock });
  const count = async (caller: Caller, section: InboxSection) => {
    const { filter } = INBOX[section];
    let [found, cursor]: [number, string | undefined] = [0, undefined];
    do {
      const page = await service.listPayouts(caller, { ...filter, limit: MOST_COUNTED, cursor });
      found += page.payouts.filter((one) => isIn(section, one)).length;
      cursor = page.nextCursor;
      // A short page with `+` would tell a limited key about the payouts that it leaves out.
    } while (cursor !== undefined && found < MOST_COUNTED && isScoped(caller));
    return `${Math.min(found, MOST_COUNTED)}${cursor === undefined ? '' : '+'}`;
  };
  return async (caller: Caller): Promise<Counts | undefined> => {
    if (!mayList(caller)) return undefined;
    return reads.read(caller.actsFor ?? caller.name, async () => {
      const [approvals, reviews, attention] = await Promise.all([
        count(caller, 'approvals'),
        count(caller, 'reviews'),
        count(caller, 'attention'),
      ]);
      return { approvals, reviews, attention };
    });
  };
}
