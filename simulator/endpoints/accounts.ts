/** Tokens of users and applications, the example call that uses one, and receiving accounts. */
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { illegalParam, Refusal } from '../http/envelope.ts';
import { currency, type Operation, optionalText, type Received, readBody, text } from '../http/operation.ts';
import type { JsonObject } from '../json.ts';
import type { App } from '../settings.ts';
import type { ReceivingAccount } from '../state/accounts.ts';
import type { UserGrant } from '../state/tokens.ts';
import type { World } from '../world.ts';

// The spec names no codes for these refusals; these are the simulator's own.
const BAD_APPLICATION = 40101;
const BAD_CODE = 40102;
const BAD_REFRESH_TOKEN = 40103;

const tokenBody = z.discriminatedUnion('grant_type', [
  z.object({ app_id: text, app_secret: text, grant_type: z.literal('authorization_code'), code: text }),
  z.object({ app_id: text, app_secret: text, grant_type: z.literal('refresh_token'), refresh_token: text }),
]);

export const oauthToken: Operation = {
  name: 'oauthToken',
  method: 'POST',
  path: '/v3/b2b/oauth/token',
  style: 'A',
  auth: 'none',
  handle: (received) => {
    const body = readBody(received.rawBody, tokenBody);
    const { world } = received;
    const app = applicationOf(world, body.app_id, body.app_secret);
    const grant =
      body.grant_type === 'authorization_code'
        ? grantForCode(world, app, body.code)
        : grantForRefreshToken(world, app, body.refresh_token);
    return {
      data: {
        access_token: grant.accessToken,
        open_id: grant.openId,
        expires_in: Math.ceil(world.settings.userTokenSeconds),
        refresh_token: grant.refreshToken,
        refresh_token_expires_in: Math.ceil(world.settings.refreshTokenSeconds),
      },
    };
  },
};

function grantForCode(world: World, app: App, code: string): UserGrant {
  const openId = world.codes.redeem(app.appId, code);
  if (openId === undefined) throw new Refusal(BAD_CODE, 'authorization code invalid, used or expired');
  return world.tokens.issueUser(app.appId, openId, world.settings);
}

function grantForRefreshToken(world: World, app: App, refreshToken: string): UserGrant {
  const grant = world.tokens.refresh(app.appId, refreshToken, world.settings);
  if (!grant) throw new Refusal(BAD_REFRESH_TOKEN, 'refresh token invalid or expired');
  return grant;
}

export const token: Operation = {
  name: 'token',
  method: 'GET',
  path: '/v2/token/get',
  style: 'A',
  auth: 'none',
  handle: ({ world, query }: Received) => {
    const app = applicationOf(world, query['app_id'] ?? '', query['app_secret'] ?? '');
    return {
      data: {
        access_token: world.tokens.issueApplication(app.appId, world.settings),
        expires_in: Math.ceil(world.settings.applicationTokenSeconds),
      },
    };
  },
};

/** The spec shows no answer, so this one echoes the request without the token. */
export const httpbin: Operation = {
  name: 'httpbin',
  method: 'GET',
  path: '/v2/httpbin/get',
  style: 'A',
  auth: 'gateway',
  handle: ({ query, headers }: Received) => {
    const { authorization: _secret, ...shown } = headers;
    return { data: { args: query, headers: shown } };
  },
};

function applicationOf(world: World, appId: string, appSecret: string): App {
  const app = world.apps.get(appId);
  if (!app || !sameText(app.appSecret, appSecret))
    throw new Refusal(BAD_APPLICATION, 'app_id or app_secret not valid');
  return app;
}

function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

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
