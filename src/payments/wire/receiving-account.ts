/** Spec: Receiving account request, and Receiving account balance response. */
import { z } from 'zod';
import type {
  OpaqueRecord,
  ReceivingAccountBalance,
  ReceivingAccountRequest,
} from '../../domain/provider-records.ts';
import { numbersToText } from '../exact-json.ts';
import { amount } from './amounts.ts';
import { text } from './scalars.ts';

/** A record whose fields the spec does not show; an empty one tells nothing and is refused. */
export const opaqueAnswer: z.ZodType<OpaqueRecord> = z
  .unknown()
  .transform(numbersToText)
  .pipe(z.record(z.string(), z.unknown()).refine((record) => Object.keys(record).length > 0));

/** The answer does not name the currency; it is the one that was asked for. */
export function balanceAnswer(currency: string): z.ZodType<ReceivingAccountBalance> {
  return z
    .object({ balance: amount, accounts: z.array(text(64)) })
    .transform((wire) => ({ balance: { currency, amount: wire.balance }, accountIds: wire.accounts }));
}

/** The spec's sample writes `currnecy`, its table `currency`: the table is followed. */
export function receivingAccountBody(request: ReceivingAccountRequest): unknown {
  return {
    payer_id: request.payerId,
    currency: request.currency,
    bank_location: request.bankLocation,
    usages: request.usages,
    purpose_code: request.purposeCode,
    month_sale_volume: request.monthSaleVolume,
  };
}
