/** Variables of the API server. It holds no secret of an application. */
import { closeSync, openSync } from 'node:fs';
import { z } from 'zod';
import { isPlainText } from '../domain/provider-text.ts';
import { isJson } from '../payments/exact-json.ts';
import { isJsonPointer, type NotificationFields } from '../payments/index.ts';
import { type Callers, callersShape, MAX_REQUESTS_PER_SECOND, readCallers } from './callers.ts';
import { deskSignInShape, type OpenIdSettings, openIdSettings } from './desk-sign-in.ts';
import { type Environment, Parts, readVariables } from './environment.ts';
import { encryptionKeys, type Keys, keyMap, mayRunWithoutKeys } from './keys.ts';
import { ISSUED_LENGTH, Secrets } from './secrets.ts';
import { temporalConfig } from './temporal-config.ts';
import {
  addressProblems,
  allowedHostsShape,
  choice,
  drainShape,
  errorCodeOf,
  hostAddresses,
  httpUrl,
  integer,
  listenAddress,
  logLevelShape,
  minLengthFor,
  partsOf,
  paymentsEnvironment,
  proxies,
  secret,
  targetCurrenciesShape,
  testBaseUrl,
  tracingShape,
} from './values.ts';

const FIELDS = ['orderId', 'partnerOrderId', 'status'] as const;

/** `orderId=/payload/id,status=/payload/state` */
const notificationFields = z.string().transform((text, context): NotificationFields => {
  const message = `must be name=/json/pointer pairs, name one of ${FIELDS.join(', ')}`;
  const fields: NotificationFields = {};
  for (const entry of partsOf(text)) {
    const [name = '', pointer = ''] = entry.split('=');
    const field = FIELDS.find((known) => known === name);
    if (field !== undefined && pointer !== '' && isJsonPointer(pointer)) fields[field] = pointer;
    else context.addIssue({ code: 'custom', message });
  }
  return fields;
});

/** The response to a notification that was accepted. */
export interface Receipt {
  status: number;
  type: string;
  body: string;
}

const MAX_RECEIPT_LENGTH = 1_000;

/** `200 {"code":0}` */
const receipt = z.string().transform((text, context): Receipt => {
  const [, status = '', body = ''] = /^(2\d\d)(?: (.+))?$/u.exec(text) ?? [];
  const isAllowed = isPlainText(body) && body.length <= MAX_RECEIPT_LENGTH;
  const hasBody = status !== '204' && status !== '205';
  if (status !== '' && isAllowed && (hasBody || body === ''))
    return {
      status: Number(status),
      type: isJson(body) ? 'application/json' : 'text/plain; charset=utf-8',
      body,
    };
  const message = `must be a status from 200 to 299, a space and a body of at most ${MAX_RECEIPT_LENGTH} characters in one line; 204 and 205 have no body`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const secrets = z.string().transform((text) => text.split(',').map((secret) => secret.trim()));

/** The file is created at startup, so that a path that cannot be written stops the process. */
const auditLog = z.string().superRefine((target, context) => {
  if (target === 'stderr') return;
  try {
    closeSync(openSync(target, 'a', 0o600));
  } catch (error) {
    const message = `names a file that cannot be written (${errorCodeOf(error)})`;
    context.addIssue({ code: 'custom', message });
  }
});

export const apiShape = {
  PAYMENTS_ENVIRONMENT: paymentsEnvironment.describe(
    "The provider's environment, recorded with each start: a worker of another environment rejects it.",
  ),
  PAYMENTS_BASE_URL: testBaseUrl,
  ...allowedHostsShape,
  ...targetCurrenciesShape,
  PAYOUTS_API_LISTEN: listenAddress
    .prefault('127.0.0.1:8080')
    .describe('Where the API server listens, in plain HTTP: put TLS in front of it.'),
  PAYOUTS_HEALTH_LISTEN: listenAddress
    .optional()
    .describe(
      'Where the API server also serves `/healthz`, `/readyz` and `/metrics`, on a port that no flood of requests reaches: let probes use it, in a private network.',
    ),
  ...callersShape,
  PAYOUTS_API_REQUESTS_PER_SECOND: integer(
    MAX_REQUESTS_PER_SECOND,
    100,
    "Each caller's sustained [limit of requests](http.md#request-limits) to one API server, unless its entry in `PAYOUTS_API_KEYS_FILE` has another one.",
  ),
  PAYMENTS_NOTIFICATION_VERIFIER: z.string().default('none').meta({
    description:
      "How notifications are verified. `hmac-sha256` and `rsa-sha256` expect the form of Standard Webhooks. A module's default export takes `{ secrets }` and returns `{ verify(input) }`. A relative PATH starts at the working directory. Spec: Events 4.",
    valueType: '`none`, `hmac-sha256`, `rsa-sha256` or `module:PATH`',
  }),
  PAYMENTS_NOTIFICATION_UNVERIFIED: choice(
    ['refuse', 'accept'],
    'Whether the API server starts in production with `PAYMENTS_NOTIFICATION_VERIFIER=none`. With `accept`, anyone who reaches the route can make a payout query the provider, at a limited rate.',
  ),
  PAYMENTS_NOTIFICATION_SECRETS: secret.pipe(secrets).default([]).meta({
    description:
      "The verifier's secrets, comma-separated, newest first: text or `whsec_…` for `hmac-sha256`, RSA public keys in PEM for `rsa-sha256`. All of them are valid, so that you can rotate them.",
    requiredWhen: 'for `hmac-sha256` and `rsa-sha256`',
  }),
  PAYMENTS_NOTIFICATION_FIELDS: notificationFields.default({}).meta({
    description:
      'JSON pointers to `orderId`, `partnerOrderId` and `status` in a notification. Default: every spelling in the spec. Spec: Events 3.',
    valueType: '`name=/pointer[,…]`',
  }),
  PAYMENTS_NOTIFICATION_RECEIPT: receipt.optional().meta({
    description:
      'The response that acknowledges a notification: a status from 200 to 299 and, after a space, one line of at most 1,000 characters, such as `200 SUCCESS` or `200 {"code":0}`; 204 and 205 have no body. It\'s sent as `application/json` if it\'s JSON, else as `text/plain`. Rejections keep their status. Default: 202 and a JSON body. Spec: Events 4.',
    valueType: 'status and body',
  }),
  PAYOUTS_API_PROXIES: proxies('Requests without a key are'),
  PAYOUTS_API_TRY_OUT: choice(
    ['off', 'on'],
    'Whether [`/docs`](http.md#documentation-pages) can send requests, with a key that its user enters.',
  ),
  PAYOUTS_DESK: choice(['off', 'on'], 'Whether `/desk` serves [the desk](desk.md).'),
  PAYOUTS_DESK_SESSION_KEYS: secret.pipe(keyMap).optional().meta({
    description:
      "Encrypts the desk's sessions, in the form of `PAYOUTS_ENCRYPTION_KEYS`. Give every API server the same keys. Removing a key ends its sessions.",
    requiredWhen: 'for `PAYOUTS_DESK=on`, unless in a [loopback test](#secrets)',
  }),
  ...deskSignInShape,
  PAYOUTS_DESK_USER_HEADER: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be the name of a header, such as X-Forwarded-User')
    .transform((name) => name.toLowerCase())
    .optional()
    .meta({
      description:
        "The header in which an [identity proxy](desk.md#behind-a-proxy-that-names-the-user) names the signed-in user, such as `X-Forwarded-User`. The desk then accepts no keys, and only `users` in `PAYOUTS_API_KEYS_FILE`. **The proxy must remove the header from its clients' requests.**",
      valueType: 'name of a header',
    }),
  PAYOUTS_DESK_PROXIES: hostAddresses.default([]).meta({
    description:
      'The addresses of the identity proxies, such as `10.0.0.7`: single hosts, no networks. Required with `PAYOUTS_DESK_USER_HEADER`.',
    valueType: 'addresses, comma-separated',
  }),
  PAYOUTS_DESK_PROXY_SECRETS: secret.pipe(secrets).default([]).meta({
    description:
      'The secret that the identity proxy sends in `X-Payouts-Proxy-Secret`: at least 32 characters. Several, comma-separated, are all valid, so that you can rotate them. Required with `PAYOUTS_DESK_USER_HEADER`.',
  }),
  PAYOUTS_DESK_TEMPORAL_UI: httpUrl
    .transform((url) => url.replace(/\/+$/, ''))
    .optional()
    .describe('The Temporal UI, to which the desk links each payout.'),
  PAYOUTS_AUDIT_LOG: auditLog.optional().meta({
    description:
      'Where the [audit trail](operations.md#audit-trail) goes: a file, which is appended to, or `stderr`. Default: the log, at the level `info`.',
    valueType: 'path or `stderr`',
  }),
  ...drainShape,
  ...logLevelShape,
  ...tracingShape,
};

const schema = z.object(apiShape);

export type ApiConfig = z.output<typeof schema> & {
  keys: Keys;
  /** Whether it has the keys for user authorizations, or needs none. */
  authorizesUsers: boolean;
  callers: Callers;
  /** Undefined: no OpenID provider signs people in. */
  openId: OpenIdSettings | undefined;
};

/** Throws `ConfigError`, with every invalid variable. */
export function apiConfig(environment: Environment): ApiConfig {
  const parts = new Parts();
  const secrets = new Secrets(environment);
  const own = parts.read(() => readVariables(schema, environment));
  parts.read(() => temporalConfig(environment, secrets));
  const foreign = { foreign: ['PAYOUTS_TOKEN_KEYS'], what: 'the API server', secrets } as const;
  const keys = parts.read(() => encryptionKeys(environment, foreign));
  parts.report(addressProblems(environment));
  if (own) {
    parts.report(secretProblems(own, secrets));
    parts.report(verifierProblems(own));
    parts.report(deskProblems(own, environment));
  }
  const signIn = parts.read(() => ({ openId: own && openIdSettings(own) }));
  const callers = parts.read(() => readCallers(environment, own, secrets));
  const read = parts.complete({ own, keys, callers, signIn });
  const authorizesUsers = read.keys.authorizations !== undefined || mayRunWithoutKeys(environment);
  return { ...read.own, keys: read.keys, authorizesUsers, callers: read.callers, ...read.signIn };
}

function secretProblems(own: z.output<typeof schema>, secrets: Secrets): string[] {
  const { PAYOUTS_DESK_SESSION_KEYS: sessionKeys, PAYMENTS_NOTIFICATION_SECRETS: notifications } = own;
  const minLength = minLengthFor(own.PAYMENTS_NOTIFICATION_VERIFIER);
  return [
    ...[...(sessionKeys?.values() ?? [])].flatMap((key) => secrets.add('PAYOUTS_DESK_SESSION_KEYS', key)),
    ...(own.PAYOUTS_DESK_OIDC_CLIENT_SECRET === undefined
      ? []
      : secrets.add('PAYOUTS_DESK_OIDC_CLIENT_SECRET', own.PAYOUTS_DESK_OIDC_CLIENT_SECRET, ISSUED_LENGTH)),
    ...own.PAYOUTS_DESK_PROXY_SECRETS.flatMap((one) => secrets.add('PAYOUTS_DESK_PROXY_SECRETS', one)),
    ...notifications.flatMap((one) => secrets.add('PAYMENTS_NOTIFICATION_SECRETS', one, minLength)),
  ];
}

/** Unverified notifications let strangers cause work, so production accepts them only by explicit choice. */
function verifierProblems(own: z.output<typeof schema>): string[] {
  if (own.PAYMENTS_ENVIRONMENT !== 'production' || own.PAYMENTS_NOTIFICATION_VERIFIER !== 'none') return [];
  if (own.PAYMENTS_NOTIFICATION_UNVERIFIED === 'accept') return [];
  return [
    'PAYMENTS_NOTIFICATION_VERIFIER: is none: production needs another one, or PAYMENTS_NOTIFICATION_UNVERIFIED=accept',
  ];
}

function deskProblems(own: z.output<typeof schema>, environment: Environment): string[] {
  const { PAYOUTS_DESK_SESSION_KEYS: keys } = own;
  const problems: string[] = [];
  if (own.PAYOUTS_DESK === 'on' && !keys && !mayRunWithoutKeys(environment))
    problems.push('PAYOUTS_DESK_SESSION_KEYS: is missing: it encrypts the sessions of the desk');
  // A header that anybody may send names nobody.
  if (own.PAYOUTS_DESK_USER_HEADER !== undefined) {
    if (own.PAYOUTS_DESK_PROXIES.length === 0)
      problems.push(
        'PAYOUTS_DESK_PROXIES: is missing: it lists the proxies that set PAYOUTS_DESK_USER_HEADER',
      );
    if (own.PAYOUTS_DESK_PROXY_SECRETS.length === 0)
      problems.push(
        'PAYOUTS_DESK_PROXY_SECRETS: is missing: it proves that PAYOUTS_DESK_USER_HEADER is from the proxy',
      );
  }
  return problems;
}
