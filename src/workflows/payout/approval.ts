/** A person approves the quote before the create, where the request requires it. */
import type { AgreedQuote } from '../../domain/payout.ts';
import type { PayoutRecord } from '../../domain/payout-record.ts';
import { withinApproval } from '../../domain/quote-check.ts';
import { lockQuote } from './lock-quote.ts';
import { NotCreated, type PayoutRun } from './run.ts';

/**
 * Returns the quote to send: `quote`, or a later one that the approval covers, where its lock has expired meanwhile.
 * Throws `NotCreated` when it is refused, or when nobody approves it in time.
 */
export async function approveIfRequired(run: PayoutRun, quote: AgreedQuote): Promise<AgreedQuote> {
  if (run.request.approval !== 'required') return quote;
  let current = quote;
  while (!isApproved(run, current)) {
    await awaitApproval(run);
    current = await lockQuote(run);
  }
  return current;
}

function isApproved(run: PayoutRun, quote: AgreedQuote): boolean {
  const { approved } = run.record;
  return approved !== undefined && withinApproval(run.request.limits, approved.quote, quote);
}

async function awaitApproval(run: PayoutRun): Promise<void> {
  const { record, settings } = run;
  run.enter('AWAITING_APPROVAL');
  record.approved = undefined;
  record.approvalExpiresAtMs ??= Date.now() + settings.approvalExpiresMs;
  const left = record.approvalExpiresAtMs - Date.now();
  await run.cancellable(() => run.rest(left, 'approval expires', () => isDecided(record)));
  if (record.refused) {
    const note = record.refused.note ? `: ${record.refused.note}` : '';
    throw new NotCreated({ code: 'APPROVAL_REFUSED', message: `refused by ${record.refused.by}${note}` });
  }
  if (!isDecided(record))
    throw new NotCreated({ code: 'APPROVAL_EXPIRED', message: 'nobody approved it in time' });
  // Should the lock expire and the next quote need another approval, that one gets its own time.
  record.approvalExpiresAtMs = undefined;
}

/** The `approve` and `refuse` updates write to the record; an approval is of the quote that stood there then. */
function isDecided(record: PayoutRecord): boolean {
  return record.approved !== undefined || record.refused !== undefined;
}
