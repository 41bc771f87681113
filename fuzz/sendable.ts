/** A worker must be able to send what the edge accepts: a later rejection could not be corrected. */
import { checkPayoutRequest } from '../src/contract/payout-request.ts';
import { createPayoutRequest, quoteRequest, tradeKey } from '../src/payments/wire/requests.ts';
import { demand } from './edge.ts';

/** The other fields of a payout are not sent. */
const SENT = [quoteRequest, createPayoutRequest.strip(), tradeKey];

/** Throws `Violation` if the provider client would reject an accepted payout. */
export function demandSendable(body: unknown): void {
  const checked = checkPayoutRequest(body);
  if (!checked.ok) return;
  const payout = checked.value;
  for (const schema of SENT) {
    const read = schema.safeParse({ ...payout, lockRateId: 'L' });
    const { path, message } = read.error?.issues[0] ?? {};
    demand(read.success, `accepted, but can never be sent: '${path?.join('.')}' ${message}`);
  }
  if (payout.notBefore !== undefined)
    demand(Number.isFinite(Date.parse(payout.notBefore)), 'accepted, but notBefore is not an instant');
}
