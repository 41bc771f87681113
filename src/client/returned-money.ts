/** What came back of finished payouts: their own results say it, and what their follow-ups have found since. */
import type { Client } from '@temporalio/client';
import { hasPaid } from '../contract/codes.ts';
import { payoutFollowUpWorkflowId, payoutOf } from '../contract/ids.ts';
import { type Money, totalsByCurrency } from '../contract/money.ts';
import { movedMoney } from '../domain/reconciliation.ts';
import { inParallel } from '../runtime/runtime.ts';
import type { ListedRun } from '../temporal/visibility.ts';
import { followUpFindings, laterReturns, readableResult } from './ended-payouts.ts';

/**
 * The sums of those of which something came back. One call to Temporal for a page of a list, if it has payouts that paid
 * anything; and one for each payout whose own result has a return, which its memo does not tell.
 */
export async function returnedSums(
  client: Client,
  runs: readonly ListedRun[],
): Promise<Map<ListedRun, Money>> {
  const paid = runs.flatMap((run) => {
    const ref = payoutOf(run.workflowId);
    if (!ref || !run.isCompleted || !hasPaid(run.attribute('PayoutOutcome'))) return [];
    return [{ run, followUp: payoutFollowUpWorkflowId(ref.app, ref.partnerOrderId) }];
  });
  const sinceMs = Math.min(...paid.map(({ run }) => run.firstStartedMs));
  const ids = paid.map(({ followUp }) => followUp);
  const [found, own] = await Promise.all([
    followUpFindings(client, ids, sinceMs),
    inParallel(paid, ({ run }) => returnedInResult(client, run)),
  ]);
  const sums = new Map<ListedRun, Money>();
  for (const [at, { run, followUp }] of paid.entries()) {
    const later = laterReturns(found.get(followUp));
    // A payout's splits have one currency.
    const [sum] = totalsByCurrency([...(own[at] ?? []), ...later.map(({ target }) => target)]);
    if (sum) sums.set(run, sum);
  }
  return sums;
}

async function returnedInResult(client: Client, run: ListedRun): Promise<Money[]> {
  if (![run.attribute('PayoutReasons')].flat().includes('PAYMENT_RETURNED')) return [];
  const result = await readableResult(client, run);
  return result ? movedMoney(result).returned : [];
}
