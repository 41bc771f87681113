/** What the edge accepts, a worker must be able to send: else it is refused where nobody can correct it any more. */
import { checkPayoutRequest } from '../src/contract/payout-request.ts';
import { createPayoutRequest, quoteRequest, tradeKey } from '../src/payments/wire/requests.ts';
import { demand } from './edge.ts';

/** Throws `Violation` where the payments client would refuse an accepted payout. */
export function demandSendable(body: unknown): void {
  const checked = checkPayoutRequest(body);
  if (!checked.ok) return;
  const payout = checked.value;
  for (const schema of [quoteRequest, createPayoutRequest, tradeKey]) {
    const read = schema.safeParse({ ...payout, lockRateId: 'L' });
    const { path, message } = read.error?.issues[0] ?? {};
    demand(read.success, `accepted, and can never be sent: '${path?.join('.')}' ${message}`);
  }
  if (payout.notBefore !== undefined)
    demand(Number.isFinite(Date.parse(payout.notBefore)), 'accepted, and notBefore is no instant');
}
