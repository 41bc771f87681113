/** Spec: Query account information. */

import type { ClientAccounts } from '../domain/provider-records.ts';
import { checked } from './checked.ts';
import type { CallOptions } from './options.ts';
import type { RequestSender } from './request.ts';
import { accountsAnswer } from './wire/accounts.ts';
import { accountsRequest } from './wire/requests.ts';

export interface AccountsRequest {
  clientId: string;
  accountType?: 'AVAIL_ACCOUNT' | 'TEMP_ACCOUNT' | undefined;
  currency?: string | undefined;
  /** JSON text. */
  extraInfo?: string | undefined;
}

/** Resolves to null if the client has no account. */
export async function accounts(
  sender: RequestSender,
  request: AccountsRequest,
  options?: CallOptions,
): Promise<ClientAccounts | null> {
  const asked = checked('accounts', accountsRequest, request);
  const body = {
    client_id: asked.clientId,
    account_type: asked.accountType,
    currency: asked.currency,
    extra_info: asked.extraInfo,
  };
  const mismatch = (answer: ClientAccounts | null) =>
    answer !== null && answer.clientId !== asked.clientId ? 'client_id' : undefined;
  const target = { path: '/v1/mid-open-api/account/query' };
  return sender.send({ operation: 'accounts', target, body, schema: accountsAnswer, mismatch }, options);
}
