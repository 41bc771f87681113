/**
 * When to ask the service next: at a notification, at a person's wish, or when the poll timer fires. A
 * notification may be forged, so each that did not show the end doubles the wait before the next one counts.
 */
import type { PayoutLife } from './payout-life.ts';

const FIRST_HINT_WAIT_MS = 1_000;

export type LearnedBy = 'notification' | 'poll';

/** Waits until there is a reason to ask, at most `ms`, or until `also` holds. */
export async function waitToAsk(
  life: PayoutLife,
  ms: number,
  summary: string,
  also: () => boolean = () => false,
): Promise<LearnedBy> {
  const { record } = life;
  const pollAtMs = Date.now() + ms;
  while (Date.now() < pollAtMs && !life.pollRequested && !also()) {
    if (record.hinted && Date.now() >= record.hintAllowedAtMs) return 'notification';
    const wasHinted = record.hinted;
    const untilMs = wasHinted ? Math.min(pollAtMs, record.hintAllowedAtMs) : pollAtMs;
    await life.rest(
      untilMs - Date.now(),
      summary,
      () => life.pollRequested || also() || record.hinted !== wasHinted,
    );
  }
  return record.hinted ? 'notification' : 'poll';
}

/**
 * One trade query. What was heard before it is answered by it; what comes during it asks again. It is asked
 * `urgently`, where given, when its turn is too long in coming, so that a busy application polls late but never stops polling.
 */
export async function asking<T>(
  life: PayoutLife,
  work: () => Promise<T>,
  urgently?: () => Promise<T>,
): Promise<T> {
  const { record } = life;
  if (record.hinted) {
    record.hintAllowedAtMs =
      Date.now() + Math.min(life.settings.pollFirstMs, FIRST_HINT_WAIT_MS * 2 ** record.hintsSpent);
    record.hintsSpent += 1;
  }
  record.hinted = false;
  life.pollRequested = false;
  try {
    return await (urgently ? life.callInTurn(work, urgently) : life.call(work));
  } finally {
    record.asks += 1;
  }
}
