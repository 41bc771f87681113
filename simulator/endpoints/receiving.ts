/** Receiving accounts: open one, query its balance and its detail. */
import { z } from 'zod';
import { illegalParam, Refusal } from '../http/envelope.ts';
import type { Operation } from '../http/operation.ts';
import { currency, optionalText, readBody, text } from '../http/validation.ts';
import type { JsonObject } from '../json.ts';
import type { ReceivingAccount } from '../state/receiving-accounts.ts';

const NOT_FOUND = 40400;

// The spec's sample body spells `currnecy`, its table `currency`: both are accepted.
const receivingBody = z
  .object({
    payer_id: text,
    currency: currency.nullish(),
    currnecy: currency.nullish(),
    bank_location: z.literal('Hong Kong').nullish(),
    usages: z.array(z.string()).nullish(),
    purpose_code: optionalText,
    month_sale_volume: optionalText,
  })
  .transform((body) => ({ ...body, currency: body.currency ?? body.currnecy }));

export const receivingAccountCreate: Operation = {
  name: 'receivingAccountCreate',
  method: 'POST',
  path: '/v1/accounts/receiving-account',
  style: 'V1',
  auth: 'gateway',
  handle: (received) => {
    const body = readBody(received.rawBody, receivingBody);
    if (!body.currency) throw illegalParam('currency');
    const account = received.world.receivingAccounts.open(
      body.payer_id,
      body.currency,
      body.bank_location ?? 'Hong Kong',
    );
    return { data: accountView(account), status: 201 };
  },
};

export const receivingAccountBalance: Operation = {
  name: 'receivingAccountBalance',
  method: 'GET',
  path: '/v1/accounts/receiving-account/:payer_id/:currency',
  style: 'V1',
  auth: 'gateway',
  handle: ({ world, params }) => {
    const accounts = world.receivingAccounts.of(params['payer_id'] ?? '', params['currency'] ?? '');
    // The spec's sample writes this balance as text.
    return { data: { balance: '0.00', accounts: accounts.map((account) => account.accountId) } };
  },
};

export const receivingAccountDetail: Operation = {
  name: 'receivingAccountDetail',
  method: 'GET',
  // The spec misspells this path.
  path: '/v1/payments/receving-account/:account_id',
  style: 'V1',
  auth: 'gateway',
  handle: ({ world, params }) => {
    const account = world.receivingAccounts.find(params['account_id'] ?? '');
    if (!account) throw new Refusal(NOT_FOUND, 'receiving account not exist');
    return { data: accountView(account) };
  },
};

/** The spec shows no fields: these are an id and plausible bank details. */
function accountView(account: ReceivingAccount): JsonObject {
  return {
    id: account.accountId,
    payer_id: account.payerId,
    currency: account.currency,
    bank_location: account.bankLocation,
    bank_name: 'Simulated Bank',
    account_number: account.accountId.slice(-12),
    status: 'ACTIVE',
    created_at: account.createdAt,
  };
}
