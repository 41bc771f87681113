/** Waits for a person's approval of the quote if the request requires one. */
import type { AgreedQuote } from '../../contract/payout.ts';
import { withinApproval } from '../../domain/payout-quote.ts';
import type { PayoutRecord } from '../../domain/payout-record.ts';
import { lockQuote } from './lock-quote.ts';
import { NotCreated, type PayoutRun } from './run.ts';

/**
 * Returns the approved quote: `quote`, or a later one that the approval covers if the lock expired meanwhile. Throws
 * `NotCreated` if the payout is refused or not approved in time.
 */
export async function approveIfRequired(run: PayoutRun, quote: AgreedQuote): Promise<AgreedQuote> {
  // Every other value requires it, also one that only a newer version knows.
  if (run.request.approval === 'none') return quote;
  let current = quote;
  while (!isApproved(run, current)) {
    await awaitApproval(run);
    current = await lockQuote(run);
  }
  return current;
}

function isApproved(run: PayoutRun, quote: AgreedQuote): boolean {
  const { approved } = run.record;
  return approved !== undefined && withinApproval(approved.covers, quote);
}

async function awaitApproval(run: PayoutRun): Promise<void> {
  const { record, settings } = run;
  run.enter('AWAITING_APPROVAL');
  record.approved = undefined;
  record.approvalExpiresAtMs ??= Date.now() + settings.approvalExpiresMs;
  const expiresAtMs = record.approvalExpiresAtMs;
  while (expiresAtMs > Date.now() && !isDecided(record))
    await run.restForDays(expiresAtMs - Date.now(), 'approval expires', () => isDecided(record));
  if (record.refused) {
    const note = record.refused.note ? `: ${record.refused.note}` : '';
    throw new NotCreated({ code: 'APPROVAL_REFUSED', message: `refused by ${record.refused.by}${note}` });
  }
  if (!isDecided(record))
    throw new NotCreated({ code: 'APPROVAL_EXPIRED', message: 'it was not approved in time' });
  // If a later quote needs another approval, that one gets the full time again.
  record.approvalExpiresAtMs = undefined;
}

/** The payout was approved or refused, and the next step has not begun. */
export function awaitsNextStep(record: PayoutRecord): boolean {
  return record.phase === 'AWAITING_APPROVAL' && isDecided(record);
}

/** The updates `approve` and `refuse` write to the record. */
function isDecided(record: PayoutRecord): boolean {
  return record.approved !== undefined || record.refused !== undefined;
}
