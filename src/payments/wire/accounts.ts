/** Spec: Account information, and Receiving account balance response. */
import { z } from 'zod';
import type {
  ClientAccount,
  ClientAccounts,
  OpaqueRecord,
  ReceivingAccountBalance,
  UnreadableAccount,
} from '../../contract/provider-records.ts';
import { isPlainText, plainText } from '../../domain/provider-text.ts';
import { ID_FIELDS } from '../../domain/receiving-account.ts';
import { isJsonObject, numbersToText } from '../exact-json.ts';
import { balance, compact, currency, inCurrency, text } from './scalars.ts';

const account: z.ZodType<ClientAccount> = z
  .object({
    account_type: text(32),
    avail_balance: balance,
    frozen_balance: balance,
    currency: currency(),
    account_status: text(16),
  })
  .transform((wire) =>
    compact({
      accountType: wire.account_type,
      available: inCurrency(wire.currency, wire.avail_balance),
      frozen: inCurrency(wire.currency, wire.frozen_balance),
      currency: wire.currency,
      status: wire.account_status,
    }),
  );

/** Only an explicit null means that there is no account. An absent `data` is invalid. */
export const accountsAnswer: z.ZodType<ClientAccounts | null> = z
  .object({ client_id: text(64), account_info_list: z.array(z.unknown()) })
  .transform(({ client_id: clientId, account_info_list: rows }) => {
    const accounts: ClientAccount[] = [];
    const unread: UnreadableAccount[] = [];
    for (const row of rows) {
      const read = account.safeParse(row);
      if (read.success) accounts.push(read.data);
      else unread.push(readableFields(row));
    }
    return { clientId, accounts, ...(unread.length > 0 && { unread }) };
  })
  .nullable();

/** The account type and the currency of a row that could not be parsed. Nothing else of the row is kept. */
function readableFields(row: unknown): UnreadableAccount {
  if (!isJsonObject(row)) return {};
  const field = (key: string) => fieldText.safeParse(row[key]).data;
  const [code, type] = [field('currency'), field('account_type')];
  return { ...(code !== undefined && { currency: code }), ...(type !== undefined && { accountType: type }) };
}

const fieldText = z
  .string()
  .transform((value): unknown => value.trim())
  .pipe(text(64));

/** A record whose fields the spec does not list. All but its id counts as a description. An empty record is rejected. */
export const opaqueAnswer: z.ZodType<OpaqueRecord> = z
  .record(z.string(), z.unknown())
  .refine((record) => Object.keys(record).length > 0)
  .refine((record) => ID_FIELDS.map((name) => record[name]).every(isPlainIfText))
  .transform((record) => numbersToText(record, plainText))
  .pipe(z.record(z.string(), z.unknown()));

function isPlainIfText(value: unknown): boolean {
  return typeof value !== 'string' || isPlainText(value);
}

/** The answer does not contain the currency, so it is that of the request. */
export function balanceSchema(code: string): z.ZodType<ReceivingAccountBalance> {
  return z
    .object({ balance, accounts: z.array(text(64)) })
    .transform((wire) => compact({ balance: inCurrency(code, wire.balance), accountIds: wire.accounts }));
}
