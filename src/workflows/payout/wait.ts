/**
 * When to query the provider next: after a notification, after a `poll` update, or when the poll timer fires. A
 * notification may be forged, so each one that did not reveal a final status doubles the wait before the next one counts.
 */
import type { PayoutRun } from './run.ts';

const FIRST_HINT_WAIT_MS = 1_000;
/** Spreads the polls of payouts that started together. */
const JITTER = 0.2;

export type LearnedBy = 'notification' | 'poll';

export function spread(ms: number): number {
  return Math.round(ms * (1 + JITTER * (Math.random() - 0.5)));
}

/** Waits until there is a reason to query, `ms` have passed, or `also` holds. */
export async function waitForNotificationOrPoll(
  run: PayoutRun,
  ms: number,
  summary: string,
  also: () => boolean = () => false,
): Promise<LearnedBy> {
  const { record } = run;
  const pollAtMs = Date.now() + ms;
  const isWoken = () => run.pollRequested || also();
  while (Date.now() < pollAtMs && !isWoken()) {
    if (record.hinted && Date.now() >= record.hintAllowedAtMs) return 'notification';
    const wasHinted = record.hinted;
    const untilMs = wasHinted ? Math.min(pollAtMs, record.hintAllowedAtMs) : pollAtMs;
    await run.rest(untilMs - Date.now(), summary, () => isWoken() || record.hinted !== wasHinted);
  }
  return record.hinted ? 'notification' : 'poll';
}

/**
 * One query about the order. It answers every earlier notification; a notification during it leads to another query. If
 * given, `urgently` replaces a query that waits too long, so that payouts of a busy application keep polling.
 */
export async function query<T>(
  run: PayoutRun,
  work: () => Promise<T>,
  urgently?: () => Promise<T>,
): Promise<T> {
  const { record, settings } = run;
  if (record.hinted) {
    const waitMs = Math.min(settings.pollFirstMs, FIRST_HINT_WAIT_MS * 2 ** record.hintedQueries);
    record.hintAllowedAtMs = Date.now() + waitMs;
    record.hintedQueries += 1;
  }
  record.hinted = false;
  run.pollRequested = false;
  try {
    return await run.call(work, urgently);
  } finally {
    record.queries += 1;
  }
}
