/** Variables of a worker, parsed once at its start. An invalid or missing variable stops the process. */
import { z } from 'zod';
import type { ApprovalPolicy } from '../domain/approval-policy.ts';
import { activityTimeoutMs } from '../domain/deadlines.ts';
import type { PayoutSettings, SendPolicy } from '../domain/payout.ts';
import type { Permissions } from '../domain/permissions.ts';
import type { CreateMeaning } from '../domain/provider-records.ts';
import { type Application, readApplications } from './applications.ts';
import { readApprovals } from './approvals.ts';
import { deploymentShape, isVersionNamed } from './deployment.ts';
import { type Keys, readKeys } from './encryption.ts';
import { ConfigError, type Environment, problemsOf, readVariables } from './environment.ts';
import { type EventEndpoints, readEvents } from './events.ts';
import { readNexus } from './nexus.ts';
import { addressProblems, allowedHostsShape } from './provider-hosts.ts';
import { publishedProblems } from './published-secrets.ts';
import * as value from './values.ts';

const CREATE_MEANINGS = ['refused', 'lock-expired', 'insufficient', 'busy'] as const;

const createCodes = z.string().transform((text, context) => {
  const message = `must be code:meaning pairs, meaning one of ${CREATE_MEANINGS}`;
  const codes = new Map<string, CreateMeaning>();
  for (const entry of value.partsOf(text)) {
    const [code = '', meaning = ''] = entry.split(':').map((part) => part.trim());
    const known = CREATE_MEANINGS.find((candidate) => candidate === meaning);
    if (known !== undefined && /^\w{1,32}$/.test(code)) codes.set(code, known);
    else context.addIssue({ code: 'custom', message });
  }
  return codes;
});

/** Unix milliseconds. An instant in the future would make every payout confirm first, so it is rejected. */
const recoveredAt = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 instant, such as 2026-01-31T08:00:00Z' })
  .transform((text) => Date.parse(text))
  .refine((ms) => ms <= Date.now(), 'must not be in the future')
  .optional();

const TOKENS = ['application', 'user'] as const;

export const workerShape = {
  PAYMENTS_ENVIRONMENT: value.paymentsEnvironment.describe(
    "The provider's environment. A worker rejects payouts that were started for another one.",
  ),
  PAYMENTS_BASE_URL: value.httpUrl.describe(
    "The base URL of the provider's API gateway. Spec: Endpoints (`base_url`).",
  ),
  PAYMENTS_AUTH_URL: value.httpUrl.describe(
    "The base URL of the provider's authorization page. Spec: User authorization page (`auth_url`).",
  ),
  ...allowedHostsShape,
  ...value.targetCurrenciesShape,
  PAYMENTS_CALLS_PER_SECOND: value.integer(
    10_000,
    20,
    'The rate limit of each `app_id`. Change it only if the provider granted another one; `payouts rate-limit` changes it without a restart. Spec: Limits.',
  ),
  PAYMENTS_GATEWAY_TOKEN: value.choice(
    TOKENS,
    'Which token goes to `/v1/accounts`, `/v1/payments` and `/v2`: that of the application or that of the user in `openId`. Spec: Authentication 6.',
  ),
  PAYMENTS_TRADE_TOKEN: value.choice(
    TOKENS,
    'Which token goes to `/v1/mid-open-api`. Spec: Authentication 6.',
  ),
  PAYMENTS_TRADE_AUTH_SCHEME: value.choice(
    ['Bearer', 'none'],
    'The form of the `Authorization` header for `/v1/mid-open-api`: `Bearer TOKEN`, or the token alone. Spec: Authentication 3.',
  ),
  PAYMENTS_AUTH_SPELLING: value.choice(
    ['snake', 'camel'],
    "How the authorization page's query parameters are spelled: `app_id` or `appId`. The spec shows both (Authorization parameters).",
  ),
  PAYMENTS_SIGNER: z.string().default('none').meta({
    description:
      'How requests to `/v1/mid-open-api` are signed. A module exports by default a function that takes `{ key }` and returns `{ sign(input) }`, which returns the headers to add; a relative PATH starts at the working directory. Spec: Authentication 4.',
    valueType: '`none`, `hmac-sha256`, `rsa-sha256` or `module:PATH`',
  }),
  PAYMENTS_SIGNING_KEY: value.secret.optional().meta({
    description:
      'The key of `PAYMENTS_SIGNER`: text for `hmac-sha256`, an RSA private key in PEM for `rsa-sha256`, or whatever a module needs.',
    requiredWhen: 'unless `PAYMENTS_SIGNER=none`',
  }),
  PAYMENTS_CALL_TIMEOUT: value.durationOf(
    '20s',
    'The maximum duration of one HTTP exchange with the provider. Other deadlines derive from it.',
  ),
  PAYMENTS_ARRIVAL_JITTER: value.duration
    .optional()
    .describe(
      "The maximum difference between the times that two calls need to reach the provider, if it is known. Without it, the worker learns it from the provider's answers ([decision 13](decisions/0013-the-rate-limit-is-leased.md)).",
    ),
  PAYMENTS_LOCK_LIFETIME: value.durationOf(
    '60s',
    'How long a rate lock is assumed to be valid. A create that cannot be sent within it gets a new quote. The spec does not say (Fee and exchange quote).',
  ),
  PAYMENTS_CREATE_CODES: createCodes.prefault('429:busy').meta({
    description:
      'What the provider states that its codes for a create mean. `refused`, `lock-expired`, `insufficient`: no order was created. `busy`: the call was not served, which is no proof, so the payout confirms over the confirmation window and then sends again without review. Any other code is an unknown outcome. Spec: Errors.',
    valueType: '`code:meaning[,…]`',
  }),
  PAYMENTS_REPEATED_CREATE: value.choice(
    ['review', 'safe'],
    'What happens to a payout whose order may exist after the confirmation window. `review`: a person decides. `safe`: the create is sent again; set it only if the provider refuses a second create with the same `outOrderId`.',
  ),
  PAYOUTS_CONFIRMATION_WINDOW: value.durationOf(
    '10m',
    'How long a create of unknown outcome is confirmed while the provider answers "order not exist" (900004). Spec: Errors.',
  ),
  PAYOUTS_CREATE_CHECK: value.choice(
    ['doubtful', 'always'],
    'When to confirm before a create is sent: for doubtful starts, or always. The retention of the namespace must exceed the time in which callers repeat a start. Otherwise set `always`, which helps only as long as the provider remembers the order ([decision 2](decisions/0002-histories-as-evidence.md)).',
  ),
  PAYOUTS_TEMPORAL_RECOVERED_AT: recoveredAt.meta({
    description:
      "Set it after Temporal's database was restored to an earlier state ([what to do](operations.md#temporals-database-was-restored)). Payouts that started before it, or within about one confirmation window after it, are confirmed over the confirmation window before a create is sent.",
    valueType: 'ISO 8601 instant in the past',
  }),
  PAYOUTS_POLL_FIRST: value.durationOf(
    '30s',
    'The first wait between two polls of an order. Each further wait doubles. Spec: Events 2.',
  ),
  PAYOUTS_POLL_MAX: value.durationOf('10m', 'The longest wait between two polls of an order.'),
  PAYOUTS_APPROVAL_EXPIRES: value.durationOf(
    '24h',
    'How long a payout waits for approval before it ends `NOT_CREATED` with `APPROVAL_EXPIRED`.',
  ),
  // A Temporal Schedule counts in seconds.
  PAYOUTS_RECONCILE_EVERY: value.duration
    .refine((ms) => ms >= 1_000, 'must be at least 1s')
    .prefault('15m')
    .describe(
      'How often reconciliation runs, at least `1s`. It runs at least as often as the first `PAYOUTS_FOLLOW_UP`.',
    ),
  ...value.followUpShape,
  PAYOUTS_OVERDUE_AFTER: value.durationOf(
    '1d',
    'When an order that is still open gets the attention flag `ORDER_OVERDUE`.',
  ),
  PAYOUTS_CALL_WAITS: value.durationOf(
    '5m',
    'When a payout whose call waits for its turn or its answer gets the attention flag `CALL_WAITS`.',
  ),
  PAYOUTS_BATCH_WINDOW: value.integer(
    5_000,
    200,
    'How many payouts of one batch may be on the way to their order at once.',
  ),
  PAYOUTS_WORKFLOW_BUNDLE: z.string().min(1).optional().meta({
    description:
      'A file that `npm run bundle-workflows -- FILE` wrote from the same sources. With it, a worker starts some seconds faster.',
    valueType: 'path',
  }),
  ...deploymentShape,
  PAYOUTS_HEALTH_LISTEN: value.listenAddress
    .optional()
    .describe(
      'Where the worker answers [`/livez` and `/readyz`](operations.md#stop-a-worker), without a key.',
    ),
  PAYOUTS_DRAIN: value.durationOf(
    '30s',
    'How long the worker may take to end after SIGTERM: calls in flight finish. Longer than `PAYMENTS_CALL_TIMEOUT`, and shorter than the grace period of your supervisor. See [Stop a worker](operations.md#stop-a-worker).',
  ),
  PAYOUTS_METRICS_LISTEN: value.optionalText(
    'Where the worker serves [Prometheus metrics](operations.md#metrics), without a key.',
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
  .refine(isVersionNamed, { path: ['PAYOUTS_BUILD_ID'], message: 'is required by PAYOUTS_DEPLOYMENT' });

export type WorkerEnvironment = z.output<typeof workerSchema>;

export interface WorkerConfig {
  env: WorkerEnvironment;
  keys: Keys;
  applications: ReadonlyMap<string, Application>;
  approvals: ApprovalPolicy;
  /** By the name of the application. */
  nexus: ReadonlyMap<string, Permissions>;
  events: EventEndpoints;
}

/** Throws `ConfigError`, with every invalid variable. */
export function workerConfig(environment: Environment): WorkerConfig {
  const env = readVariables(workerSchema, environment);
  const applications = readApplications(environment);
  const approvals = readApprovals(environment, applications.ok ? applications.value : undefined);
  const nexus = readNexus(environment, applications.ok ? applications.value : undefined);
  const events = readEvents(environment, applications.ok ? applications.value : undefined);
  const authorizesUsers =
    applications.ok && [...applications.value.values()].some(({ redirectUri }) => redirectUri !== undefined);
  const keys = readKeys(environment, [
    ...(['PAYOUTS_ENCRYPTION_KEYS', 'PAYOUTS_TOKEN_KEYS'] as const),
    ...(authorizesUsers ? (['PAYOUTS_AUTHORIZATION_KEYS'] as const) : []),
  ]);
  const signingKey = env.ok ? env.value.PAYMENTS_SIGNING_KEY : undefined;
  const problems = [
    ...problemsOf(env, applications, approvals, nexus, events, keys),
    ...addressProblems(environment, ['PAYMENTS_BASE_URL', 'PAYMENTS_AUTH_URL']),
    ...publishedProblems(environment, 'PAYMENTS_SIGNING_KEY', signingKey === undefined ? [] : [signingKey]),
  ];
  if (
    !env.ok ||
    !applications.ok ||
    !approvals.ok ||
    !nexus.ok ||
    !events.ok ||
    !keys.ok ||
    problems.length > 0
  )
    throw new ConfigError(problems);
  return {
    ...{ env: env.value, keys: keys.value },
    ...{ applications: applications.value, approvals: approvals.value, nexus: nexus.value },
    events: events.value,
  };
}

/** The settings that a payout keeps for its whole life. */
export function payoutSettings(env: WorkerEnvironment, apiQueue: string): PayoutSettings {
  return {
    environment: env.PAYMENTS_ENVIRONMENT,
    apiQueue,
    callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT,
    lockLifetimeMs: env.PAYMENTS_LOCK_LIFETIME,
    confirmationWindowMs: env.PAYOUTS_CONFIRMATION_WINDOW,
    pollFirstMs: env.PAYOUTS_POLL_FIRST,
    pollMaxMs: env.PAYOUTS_POLL_MAX,
    approvalExpiresMs: env.PAYOUTS_APPROVAL_EXPIRES,
    overdueAfterMs: env.PAYOUTS_OVERDUE_AFTER,
    callWaitsMs: env.PAYOUTS_CALL_WAITS,
  };
}

/** The settings that activities read at each send, so that a change applies to open payouts too. */
export function sendPolicy(env: WorkerEnvironment): SendPolicy {
  return {
    createCheck: env.PAYOUTS_CREATE_CHECK,
    repeatedCreate: env.PAYMENTS_REPEATED_CREATE,
    recoveredAtMs: env.PAYOUTS_TEMPORAL_RECOVERED_AT,
    visibleWithinMs: activityTimeoutMs(env.PAYMENTS_CALL_TIMEOUT) + env.PAYOUTS_CONFIRMATION_WINDOW,
  };
}
