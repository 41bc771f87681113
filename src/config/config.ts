/** Variables of a worker, parsed once at its start. An invalid or missing variable stops the process. */
import { z } from 'zod';
import type { CreateMeaning, QuoteMeaning } from '../contract/provider-records.ts';
import type { SharedSettings } from '../contract/rate-limit.ts';
import type { PayoutSettings, SendPolicy } from '../domain/payout-record.ts';
import type { Permissions } from '../domain/permissions.ts';
import { ECHOES } from '../domain/provider-text.ts';
import { activityTimeoutMs } from '../domain/time.ts';
import type { PlainPayloads } from '../encryption/payload-codec.ts';
import { type Application, readApplications } from './applications.ts';
import { readNexus } from './callers.ts';
import { type Environment, Parts, readVariables } from './environment.ts';
import { type EventEndpoints, readEvents } from './events.ts';
import { encryptionKeys, type Keys } from './keys.ts';
import { Secrets } from './secrets.ts';
import { temporalConfig } from './temporal-config.ts';
import * as value from './values.ts';
import { addressProblems, allowedHostsShape } from './values.ts';

const CREATE_MEANINGS = ['refused', 'lock-expired', 'insufficient', 'busy', 'duplicate'] as const;

const QUOTE_MEANINGS = ['refused', 'insufficient'] as const satisfies readonly QuoteMeaning[];

/** `code:meaning[,…]`; an HTTP status is the code `http:404`. */
function codesOf<Meaning extends string>(meanings: readonly Meaning[], codePattern: RegExp) {
  return z.string().transform((text, context) => {
    const message = `must be code:meaning pairs, meaning one of ${meanings}`;
    const codes = new Map<string, Meaning>();
    for (const entry of value.partsOf(text)) {
      const [, code = '', meaning = ''] = /^(.*):(.*)$/.exec(entry) ?? [];
      const known = meanings.find((candidate) => candidate === meaning.trim());
      if (known !== undefined && codePattern.test(code.trim())) codes.set(code.trim(), known);
      else context.addIssue({ code: 'custom', message });
    }
    return codes;
  });
}

/** After a server error, a gateway may have passed the call on: only a status from 400 to 499 can be listed. */
const createCodes = codesOf<CreateMeaning>(CREATE_MEANINGS, /^(http:4\d\d|\w{1,32})$/);
const quoteCodes = codesOf<QuoteMeaning>(QUOTE_MEANINGS, /^(http:\d{3}|\w{1,32})$/);

/** Temporal joins both with a separator that may be `:` or `.`. The Worker Controller gives a name with `/`. */
const deploymentName = z
  .string()
  .regex(/^[\w/-]{1,128}$/, 'must be 1 to 128 letters, digits, underscores, hyphens and slashes')
  .optional();
const buildId = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, underscores and hyphens')
  .optional();

const TOKENS = ['application', 'user'] as const;

export const workerShape = {
  PAYMENTS_ENVIRONMENT: value.paymentsEnvironment.describe(
    "The provider's environment. A worker rejects payouts that were started for another one.",
  ),
  PAYMENTS_BASE_URL: value.httpUrl.describe("The provider's API gateway. Spec: Endpoints (`base_url`)."),
  PAYMENTS_AUTH_URL: value.httpUrl.describe(
    "The provider's authorization page. Spec: User authorization page (`auth_url`).",
  ),
  ...allowedHostsShape,
  ...value.targetCurrenciesShape,
  PAYMENTS_CALLS_PER_SECOND: value.integer(
    10_000,
    20,
    'The rate limit of each `app_id`, as the provider grants it. `payouts rate-limit` changes it without a restart. Spec: Limits.',
  ),
  PAYMENTS_GATEWAY_TOKEN: value.choice(
    TOKENS,
    "The token for `/v1/accounts`, `/v1/payments` and `/v2`: the application's, or that of the user in `openId`. Spec: Authentication 6.",
  ),
  PAYMENTS_TRADE_TOKEN: value.choice(TOKENS, 'The token for `/v1/mid-open-api`. Spec: Authentication 6.'),
  PAYMENTS_TRADE_AUTH_SCHEME: value.choice(
    ['Bearer', 'none'],
    'The `Authorization` header for `/v1/mid-open-api`: `Bearer TOKEN`, or the token alone. Spec: Authentication 3.',
  ),
  PAYMENTS_AUTH_SPELLING: value.choice(
    ['snake', 'camel'],
    "The authorization page's query parameters: `app_id` or `appId`. Spec: Authorization parameters, which shows both.",
  ),
  PAYMENTS_SIGNER: z.string().default('none').meta({
    description:
      "Signs requests to `/v1/mid-open-api`. A module's default export takes `{ key }` and returns `{ sign(input) }`, which returns the headers to add. A relative PATH starts at the working directory. Spec: Authentication 4.",
    valueType: '`none`, `hmac-sha256`, `rsa-sha256` or `module:PATH`',
  }),
  PAYMENTS_SIGNING_KEY: value.secret.optional().meta({
    description:
      "The signer's key: text for `hmac-sha256`, an RSA private key in PEM for `rsa-sha256`, or what a module needs.",
    requiredWhen: 'unless `PAYMENTS_SIGNER=none`',
  }),
  PAYMENTS_CALL_TIMEOUT: value.durationOf(
    '20s',
    'The maximum duration of one HTTP exchange with the provider.',
  ),
  PAYMENTS_LOCK_LIFETIME: value.durationOf(
    '60s',
    "How long a rate lock is valid. A create call that can't be sent in time gets a new quote. Spec: Fee and exchange quote, which doesn't say.",
  ),
  PAYMENTS_CREATE_CODES: createCodes.prefault('429:busy').meta({
    description:
      "What the provider says that a create call's codes mean ([what follows](how-it-works.md#the-create-call)). `refused`, `lock-expired`, `insufficient`: no order was created. `busy`: the call wasn't served, which is no proof. `duplicate`: the `outOrderId` was used. `http:401:busy` lists an HTTP status from 400 to 499, for bodies without a code. Any other code is an unknown outcome. Spec: Errors.",
    valueType: '`code:meaning[,…]`',
  }),
  PAYMENTS_QUOTE_CODES: quoteCodes.prefault('900002:refused').meta({
    description:
      "What the provider says that an account check's or quote's codes mean. Such a code ends the payout as `NOT_CREATED`: `refused` with `REFUSED_BY_PROVIDER`, `insufficient` with `INSUFFICIENT_BALANCE`. After any other refusal, it asks again, at least every half hour, and is flagged `QUOTE_REFUSED`. Spec: Errors.",
    valueType: '`code:meaning[,…]`; the code `http:404` is an HTTP status',
  }),
  PAYMENTS_REPEATED_CREATE: value.choice(
    ['review', 'safe'],
    'What happens if the outcome is still unknown after the confirmation window. `review`: an operator decides. `safe`: the create call is sent again. **Set `safe` only if the provider rejects a second one with the same `outOrderId`.**',
  ),
  PAYMENTS_TRADE_ORDER_ID: value.choice(
    ['same', 'own'],
    "Whether the trade queries' `order_id` is the order's `orderId`. `own`: it's another number, learned from the first trade query after the create call; an order that only a trade query has named needs an operator to name its `orderId`. Spec: Payout trade result.",
  ),
  PAYMENTS_ECHO: value.choice(
    ECHOES,
    "How the provider repeats what it was sent. `visible`: it may mask the beneficiary with `*`, `•`, `●` or `#`, or change letter case, spaces and punctuation; what's visible is compared. `exact`: a mask or other punctuation is a difference, which leads to review. `normalized`: as `visible`, for IDs too; no two IDs may differ only in letter case and punctuation. Spec: Payout order.",
  ),
  PAYMENTS_CLIENT_PAIRS: value.choice(
    ['learned', 'trusted'],
    "For which pairs of `clientId` and `payerId` [a confirmation proves](how-it-works.md#what-a-confirmation-proves) that no order exists. `learned`: those with an order within the namespace's retention; others go to review. `trusted`: all. Spec: Query payout trade result.",
  ),
  PAYMENTS_READ_LAG: value.durationOf(
    '10s',
    'How long after a create call\'s response the trade queries may still return "order not exist" (900004) for its order. A refusal applies only once a later query returns it. Spec: Errors.',
  ),
  PAYOUTS_CONFIRMATION_WINDOW: value.durationOf(
    '10m',
    'How long an unknown outcome is confirmed while the provider returns "order not exist" (900004). Spec: Errors.',
  ),
  PAYOUTS_CREATE_CHECK: value.choice(
    ['doubtful', 'always'],
    "When to confirm before a create call: for doubtful starts, or always. **Set `always` if callers may repeat a start after the namespace's [retention](operations.md#namespace-retention), or somebody without a payload key can write to the namespace ([why](security.md#plain-payloads)).**",
  ),
  PAYOUTS_POLL_FIRST: value.durationOf(
    '30s',
    'The first wait between two polls of an order. It doubles each time. Spec: Events 2.',
  ),
  PAYOUTS_POLL_MAX: value.durationOf('10m', 'The longest wait between two polls of an order.'),
  PAYOUTS_APPROVAL_EXPIRES: value.durationOf(
    '24h',
    'How long a payout waits for approval before it ends as `APPROVAL_EXPIRED`.',
  ),
  // A Temporal Schedule counts in seconds.
  PAYOUTS_RECONCILE_EVERY: value.duration
    .refine((ms) => ms >= 1_000, 'must be at least 1s')
    .prefault('15m')
    .describe(
      'How often reconciliation runs: `1s` or longer. It runs at least as often as the first `PAYOUTS_FOLLOW_UP`.',
    ),
  ...value.followUpShape,
  PAYOUTS_OVERDUE_AFTER: value.durationOf('1d', 'When an open order is flagged `ORDER_OVERDUE`.'),
  PAYOUTS_CALL_WAITS: value.durationOf(
    '5m',
    'When a payout whose call waits for its turn or its response is flagged `CALL_WAITS`.',
  ),
  PAYOUTS_PLAIN_PAYLOADS: z.enum(['refuse', 'accept']).optional().meta({
    description:
      "Whether workers [refuse](security.md#plain-payloads) starts, decisions and activities whose payloads aren't encrypted under one of `PAYOUTS_ENCRYPTION_KEYS`. Default: `refuse`; without these keys, in a test, `accept`.",
  }),
  PAYOUTS_BATCH_WINDOW: value.integer(
    5_000,
    200,
    "How many payouts of a batch's part may be on the way to their first wait ([batches](how-it-works.md#batches)).",
  ),
  PAYOUTS_WORKFLOW_BUNDLE: z.string().min(1).optional().meta({
    description:
      'A file that `npm run bundle-workflows -- FILE` wrote from the same sources. Workers start a few seconds faster with it.',
    valueType: 'path',
  }),
  PAYOUTS_DEPLOYMENT: deploymentName.meta({
    description: "The worker deployment's name. Turns on [worker versions](operations.md#deployments).",
    valueType: 'name',
  }),
  PAYOUTS_BUILD_ID: buildId.meta({
    description:
      'The version of the code, such as the commit. Workers with the same build ID must run the same code.',
    requiredWhen: 'with `PAYOUTS_DEPLOYMENT`',
    valueType: 'name',
  }),
  PAYOUTS_HEALTH_LISTEN: value.listenAddress
    .optional()
    .describe(
      'Where the worker serves [`/livez` and `/readyz`](operations.md#stop-a-worker), without a key.',
    ),
  PAYOUTS_DRAIN: value.durationOf(
    '30s',
    "How long the worker may take to [stop](operations.md#stop-a-worker) after SIGTERM. Longer than `PAYMENTS_CALL_TIMEOUT`, shorter than your supervisor's grace period.",
  ),
  PAYOUTS_METRICS_LISTEN: value.optionalText(
    'Where the worker serves [Prometheus metrics](observability.md#metrics), without a key.',
    '`IP:port`',
  ),
  ...value.logLevelShape,
  ...value.tracingShape,
};

const workerSchema = z
  .object(workerShape)
  .refine((env) => env.PAYMENTS_SIGNER === 'none' || env.PAYMENTS_SIGNING_KEY, {
    path: ['PAYMENTS_SIGNING_KEY'],
    message: 'is required by PAYMENTS_SIGNER',
  })
  .refine((env) => env.PAYOUTS_DEPLOYMENT === undefined || env.PAYOUTS_BUILD_ID !== undefined, {
    path: ['PAYOUTS_BUILD_ID'],
    message: 'is required by PAYOUTS_DEPLOYMENT',
  });

export type WorkerEnvironment = z.output<typeof workerSchema>;

export interface WorkerConfig {
  env: WorkerEnvironment;
  keys: Keys;
  applications: ReadonlyMap<string, Application>;
  /** By the name of the application. */
  nexus: ReadonlyMap<string, Permissions>;
  events: EventEndpoints;
}

/** Throws `ConfigError`, with every invalid variable. */
export function workerConfig(environment: Environment): WorkerConfig {
  const parts = new Parts();
  const secrets = new Secrets(environment);
  const env = parts.read(() => readVariables(workerSchema, environment));
  parts.read(() => temporalConfig(environment, secrets));
  const applications = parts.read(() => readApplications(environment, secrets));
  const nexus = parts.read(() => readNexus(environment, applications));
  const events = parts.read(() => readEvents(environment, applications, secrets));
  const authorizesUsers = [...(applications?.values() ?? [])].some(({ redirectUri }) => redirectUri);
  const keys = parts.read(() =>
    encryptionKeys(environment, {
      needed: [
        'PAYOUTS_ENCRYPTION_KEYS',
        'PAYOUTS_TOKEN_KEYS',
        ...(authorizesUsers ? (['PAYOUTS_AUTHORIZATION_KEYS'] as const) : []),
      ],
      secrets,
    }),
  );
  if (env && keys && plainPayloads({ env, keys }) === 'refuse' && !keys.payloads)
    parts.report(['PAYOUTS_PLAIN_PAYLOADS: refuses everything without PAYOUTS_ENCRYPTION_KEYS']);
  parts.report(addressProblems(environment, ['PAYMENTS_BASE_URL', 'PAYMENTS_AUTH_URL']));
  const { PAYMENTS_SIGNER: signer = '', PAYMENTS_SIGNING_KEY: signingKey } = env ?? {};
  if (signingKey !== undefined)
    parts.report(secrets.add('PAYMENTS_SIGNING_KEY', signingKey, value.minLengthFor(signer)));
  return parts.complete({ env, applications, nexus, events, keys });
}

/** Only in a test does a worker have no keys. */
export function plainPayloads({ env, keys }: Pick<WorkerConfig, 'env' | 'keys'>): PlainPayloads {
  return env.PAYOUTS_PLAIN_PAYLOADS ?? (keys.payloads ? 'refuse' : 'accept');
}

/** The settings that a payout keeps for its whole life. */
export function payoutSettings(env: WorkerEnvironment, apiQueue: string): PayoutSettings {
  return {
    environment: env.PAYMENTS_ENVIRONMENT,
    apiQueue,
    callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT,
    lockLifetimeMs: env.PAYMENTS_LOCK_LIFETIME,
    confirmationWindowMs: env.PAYOUTS_CONFIRMATION_WINDOW,
    readLagMs: env.PAYMENTS_READ_LAG,
    tradeOrderId: env.PAYMENTS_TRADE_ORDER_ID,
    echo: env.PAYMENTS_ECHO,
    pollFirstMs: env.PAYOUTS_POLL_FIRST,
    pollMaxMs: env.PAYOUTS_POLL_MAX,
    approvalExpiresMs: env.PAYOUTS_APPROVAL_EXPIRES,
    overdueAfterMs: env.PAYOUTS_OVERDUE_AFTER,
    callWaitsMs: env.PAYOUTS_CALL_WAITS,
  };
}

/** The settings that activities read at each send, so that a change applies to open payouts too. */
export function sendPolicy(env: WorkerEnvironment, { recoveredAt, approvals }: SharedSettings): SendPolicy {
  return {
    createCheck: env.PAYOUTS_CREATE_CHECK,
    repeatedCreate: env.PAYMENTS_REPEATED_CREATE,
    clientPairs: env.PAYMENTS_CLIENT_PAIRS,
    visibleWithinMs: activityTimeoutMs(env.PAYMENTS_CALL_TIMEOUT) + env.PAYOUTS_CONFIRMATION_WINDOW,
    recoveredAtMs: recoveredAt === null ? undefined : Date.parse(recoveredAt),
    approvals,
  };
}
