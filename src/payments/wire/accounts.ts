/** Spec: Account information. `data` is null when the client has no account. */
import { z } from 'zod';
import type { ClientAccount, ClientAccounts } from '../types.ts';
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
  .object({ client_id: text(64), account_info_list: z.array(account) })
  .transform((wire) => ({ clientId: wire.client_id, accounts: wire.account_info_list }))
  .nullable();
