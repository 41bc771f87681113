/** Spec: Account information. `data` is null when the client has no account. */
import { z } from 'zod';
import type { ClientAccount, ClientAccounts, UnreadableAccount } from '../../domain/provider-records.ts';
import { isJsonObject } from '../exact-json.ts';
import { amount, currency } from './amounts.ts';
import { text } from './scalars.ts';

const account: z.ZodType<ClientAccount> = z
  .object({
    account_type: text(32),
    avail_balance: amount,
    frozen_balance: amount,
    currency: currency(),
    account_status: text(16),
  })
  .transform((wire) => ({
    accountType: wire.account_type,
    available: { currency: wire.currency, amount: wire.avail_balance },
    frozen: { currency: wire.currency, amount: wire.frozen_balance },
    currency: wire.currency,
    status: wire.account_status,
  }));

/** An absent `data` is nonsense; only an explicit null says that there is no account. */
export const accountsAnswer: z.ZodType<ClientAccounts | null> = z
  .object({ client_id: text(64), account_info_list: z.array(z.unknown()) })
  .transform(({ client_id: clientId, account_info_list: rows }) => {
    const accounts: ClientAccount[] = [];
    const unread: UnreadableAccount[] = [];
    for (const row of rows) {
      const read = account.safeParse(row);
      if (read.success) accounts.push(read.data);
      else unread.push(namesIn(row));
    }
    return { clientId, accounts, ...(unread.length > 0 && { unread }) };
  })
  .nullable();

/** What an odd row says about itself. Long texts are no names, and nothing else of the row is kept. */
function namesIn(row: unknown): UnreadableAccount {
  if (!isJsonObject(row)) return {};
  const named = (key: string) => name.safeParse(row[key]).data;
  const [code, type] = [named('currency'), named('account_type')];
  return { ...(code !== undefined && { currency: code }), ...(type !== undefined && { accountType: type }) };
}

const name = z.string().trim().min(1).max(64);
