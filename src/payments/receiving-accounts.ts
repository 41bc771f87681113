/** Spec: Apply for a receiving account, Query receiving accounts, Query receiving account detail. */

import type {
  OpaqueRecord,
  ReceivingAccountBalance,
  ReceivingAccountRequest,
} from '../domain/provider-records.ts';
import { checked } from './checked.ts';
import type { CallOptions } from './options.ts';
import type { RequestSender } from './request.ts';
import { pathSegment } from './target.ts';
import { balanceAnswer, opaqueAnswer, receivingAccountBody } from './wire/receiving-account.ts';
import { accountDetailRequest, balanceRequest, receivingAccountRequest } from './wire/requests.ts';

/** Opens an account. A lost answer is an `AmbiguousError`. */
export async function openReceivingAccount(
  sender: RequestSender,
  request: ReceivingAccountRequest,
  options?: CallOptions,
): Promise<OpaqueRecord> {
  const body = receivingAccountBody(checked('openReceivingAccount', receivingAccountRequest, request));
  const target = { path: '/v1/accounts/receiving-account' };
  return sender.send({ operation: 'openReceivingAccount', target, body, schema: opaqueAnswer }, options);
}

export async function receivingAccountBalance(
  sender: RequestSender,
  payerId: string,
  currency: string,
  options?: CallOptions,
): Promise<ReceivingAccountBalance> {
  const request = checked('receivingAccountBalance', balanceRequest, { payerId, currency });
  const parts = `${pathSegment(request.payerId)}/${pathSegment(request.currency)}`;
  const target = { path: `/v1/accounts/receiving-account/${parts}` };
  const schema = balanceAnswer(request.currency);
  return sender.send({ operation: 'receivingAccountBalance', target, schema }, options);
}

/** The path contains `receving`, as in the spec. */
export async function receivingAccountDetail(
  sender: RequestSender,
  accountId: string,
  options?: CallOptions,
): Promise<OpaqueRecord> {
  const request = checked('receivingAccountDetail', accountDetailRequest, { accountId });
  const target = { path: `/v1/payments/receving-account/${pathSegment(request.accountId)}` };
  return sender.send({ operation: 'receivingAccountDetail', target, schema: opaqueAnswer }, options);
}
