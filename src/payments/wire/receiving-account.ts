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

/** A record whose fields the spec does not list. An empty record is rejected. */
export const opaqueAnswer: z.ZodType<OpaqueRecord> = z
  .unknown()
  .transform(numbersToText)
  .pipe(z.record(z.string(), z.unknown()).refine((record) => Object.keys(record).length > 0));

/** The answer does not contain the currency, so it is that of the request. */
export function balanceAnswer(currency: string): z.ZodType<ReceivingAccountBalance> {
  return z
    .object({ balance: amount, accounts: z.array(text(64)) })
    .transform((wire) => ({ balance: { currency, amount: wire.balance }, accountIds: wire.accounts }));
}

/** The spec's sample has `currnecy`, its table `currency`. We send `currency`. */
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
