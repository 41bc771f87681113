/** Tracks the created order to its final status: queries the trade after a notification or when the poll timer fires. */
import type { KnownOrder } from '../../domain/payout-record.ts';
import { type FinalStatus, finalStatus } from '../../domain/payout-trade.ts';
import { type KnownTrade, queryTrade } from './query-trade.ts';
import type { PayoutRun } from './run.ts';
import { type LearnedBy, spread, waitForNotificationOrPoll } from './wait.ts';

export type FinalTrade = KnownTrade & { status: FinalStatus; learnedBy: LearnedBy };

/**
 * Returns the trade once its status is final; there is no time limit. Undefined if the provider no longer knows the
 * order.
 */
export async function trackToFinal(run: PayoutRun, created: KnownOrder): Promise<FinalTrade | undefined> {
  const { record } = run;
  let order = created;
  while (record.creation.stage === 'created') {
    const learnedBy = await waitForNotificationOrPoll(
      run,
      nextPollMs(run),
      'polls if no notification arrives',
    );
    const answer = await queryTrade(run, order, learnedBy);
    const status = answer && finalStatus(answer.trade);
    if (answer && status) return { ...answer, status, learnedBy };
    if (answer) order = answer.order;
    // Only disagreements in a row shorten the time between polls.
    record.disagreements = 0;
    await run.continueAsNewWhenDue();
  }
  return undefined;
}

/** Final trades that could not be verified are polled again soon. */
function nextPollMs({ record, settings }: PayoutRun): number {
  const { disagreements } = record;
  const first = disagreements > 0 ? 1_000 : settings.pollFirstMs;
  const age = disagreements > 0 ? disagreements - 1 : record.queries - record.queriesBeforeOrder;
  return spread(Math.min(settings.pollMaxMs, first * 2 ** Math.min(age, 30)));
}
