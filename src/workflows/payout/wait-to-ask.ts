/**
 * When to ask the provider next: at a notification, at a person's request, or when the poll timer fires. A
 * notification may be forged, so each that did not show a final status doubles the wait before the next one counts.
 */
import type { PayoutRun } from './run.ts';

const FIRST_HINT_WAIT_MS = 1_000;
/** Polls spread out by up to this part, so that payouts started together do not poll together for ever. */
const JITTER = 0.2;

export type LearnedBy = 'notification' | 'poll';

export function spread(ms: number): number {
  return Math.round(ms * (1 + JITTER * (Math.random() - 0.5)));
}

/** Waits until there is a reason to ask, at most `ms`, or until `also` holds. */
export async function waitForNotificationOrPoll(
  run: PayoutRun,
  ms: number,
  summary: string,
  also: () => boolean = () => false,
): Promise<LearnedBy> {
  const { record } = run;
  const pollAtMs = Date.now() + ms;
  while (Date.now() < pollAtMs && !run.pollRequested && !also()) {
    if (record.hinted && Date.now() >= record.hintAllowedAtMs) return 'notification';
    const wasHinted = record.hinted;
    const untilMs = wasHinted ? Math.min(pollAtMs, record.hintAllowedAtMs) : pollAtMs;
    await run.rest(
      untilMs - Date.now(),
      summary,
      () => run.pollRequested || also() || record.hinted !== wasHinted,
    );
  }
  return record.hinted ? 'notification' : 'poll';
}

/**
 * One query about the order. It answers every notification that came before it; one that comes during it leads to
 * another. `urgently`, where given, replaces it when its turn is too long in coming, so that a busy application polls
 * late but never stops polling.
 */
export async function query<T>(
  run: PayoutRun,
  work: () => Promise<T>,
  urgently?: () => Promise<T>,
): Promise<T> {
  const { record } = run;
  if (record.hinted) {
    record.hintAllowedAtMs =
      Date.now() + Math.min(run.settings.pollFirstMs, FIRST_HINT_WAIT_MS * 2 ** record.hintsSpent);
    record.hintsSpent += 1;
  }
  record.hinted = false;
  run.pollRequested = false;
  try {
    return await (urgently ? run.callInTurn(work, urgently) : run.call(work));
  } finally {
    record.asks += 1;
  }
}
