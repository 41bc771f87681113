/**
 * What a worker reads from its environment, parsed once at its start. A bad or missing variable stops the process, which
 * prints its name and never its value: it may be a secret.
 */
import { z } from 'zod';
import { fieldErrors } from '../contract/payout-request.ts';
import { activityTimeoutMs } from '../domain/deadlines.ts';
import type { PayoutSettings, SendPolicy } from '../domain/payout.ts';
import type { CreateMeaning } from '../domain/provider-records.ts';
import { type Application, readApplications } from './applications.ts';
import { ConfigError } from './config-error.ts';
import { duration } from './duration.ts';
import { type Keys, readKeys } from './encryption.ts';
import { type Environment, httpUrl, paymentsEnvironment, withoutEmpty } from './environment.ts';
import { followUpShape } from './follow-up.ts';
import { logLevelShape } from './log-level.ts';
import { secret } from './secret.ts';

const CREATE_MEANINGS = ['refused', 'lock-expired', 'insufficient', 'busy'] as const;

const createCodes = z.string().transform((text, context) => {
  const codes = new Map<string, CreateMeaning>();
  for (const entry of text.split(',').filter((part) => part.trim() !== '')) {
    const [code = '', meaning = ''] = entry.split(':').map((part) => part.trim());
    const known = CREATE_MEANINGS.find((candidate) => candidate === meaning);
    if (!/^\w{1,32}$/.test(code) || known === undefined)
      context.addIssue({
        code: 'custom',
        message: `must be code:meaning pairs, meaning one of ${CREATE_MEANINGS}`,
      });
    else codes.set(code, known);
  }
  return codes;
});

/** Unix milliseconds. An instant in the future would make every payout doubtful, so it is refused as a mistake. */
const recoveredAt = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 instant, such as 2026-01-31T08:00:00Z' })
  .transform((text) => Date.parse(text))
  .refine((ms) => ms <= Date.now(), 'must not lie in the future')
  .optional();

const tokenKind = z.enum(['application', 'user']).default('application');

export const workerShape = {
  PAYMENTS_ENVIRONMENT: paymentsEnvironment.describe(
    "The provider's environment. A worker refuses payouts that were started for another one.",
  ),
  PAYMENTS_BASE_URL: httpUrl.describe(
    "The base URL of the provider's API gateway. Spec: Endpoints (`base_url`).",
  ),
  PAYMENTS_AUTH_URL: httpUrl.describe(
    "The base URL of the provider's authorization page. Spec: User authorization page (`auth_url`).",
  ),
  PAYMENTS_CALLS_PER_SECOND: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(20)
    .describe(
      'The rate limit of each `app_id`. Change it only if the provider granted another one; `payouts rate-limit` changes it without a restart. Spec: Limits.',
    ),
  PAYMENTS_GATEWAY_TOKEN: tokenKind.describe(
    'Which token goes to `/v1/accounts`, `/v1/payments` and `/v2`: that of the application or that of the user in `openId`. Spec: Authentication 6.',
  ),
  PAYMENTS_TRADE_TOKEN: tokenKind.describe('Which token goes to `/v1/mid-open-api`. Spec: Authentication 6.'),
  PAYMENTS_TRADE_AUTH_SCHEME: z
    .enum(['Bearer', 'none'])
    .default('Bearer')
    .describe(
      'The form of the `Authorization` header for `/v1/mid-open-api`: `Bearer TOKEN`, or the token alone. Spec: Authentication 3.',
    ),
  PAYMENTS_AUTH_SPELLING: z
    .enum(['snake', 'camel'])
    .default('snake')
    .describe(
      "How the authorization page's query parameters are spelled: `app_id` or `appId`. The spec shows both (Authorization parameters).",
    ),
  PAYMENTS_SIGNER: z.string().default('none').meta({
    description:
      'How requests to `/v1/mid-open-api` are signed. A module exports by default a function that takes `{ key }` and returns `{ sign(input) }`, which returns the headers to add; a relative PATH starts at the working directory. Spec: Authentication 4.',
    valueType: '`none`, `hmac-sha256`, `rsa-sha256` or `module:PATH`',
  }),
  PAYMENTS_SIGNING_KEY: secret.optional().meta({
    description:
      'The key of `PAYMENTS_SIGNER`: text for `hmac-sha256`, an RSA private key in PEM for `rsa-sha256`, and whatever a module needs.',
    requiredWhen: 'unless `PAYMENTS_SIGNER=none`',
  }),
  PAYMENTS_CALL_TIMEOUT: duration
    .prefault('20s')
    .describe(
      'The longest that one HTTP exchange with the provider may take. Other deadlines derive from it.',
    ),
  PAYMENTS_ARRIVAL_JITTER: duration
    .optional()
    .describe(
      'By how much the times that calls need to reach the provider are known to differ at most. Without it, the answers of the provider decide ([decision 13](decisions/0013-the-rate-limit-is-leased.md)).',
    ),
  PAYMENTS_LOCK_LIFETIME: duration
    .prefault('60s')
    .describe(
      'How long a rate lock is assumed to be valid. A create that cannot be sent within it gets a new quote. The spec does not say (Fee and exchange quote).',
    ),
  PAYMENTS_CREATE_CODES: createCodes.prefault('429:busy').meta({
    description:
      'What the provider says that its codes for a create mean. Each meaning is a kind of "not created": `refused`, `lock-expired`, `insufficient`, or `busy`, which is confirmed over the confirmation window and then sent again. Any other code is an unknown outcome. Spec: Errors.',
    valueType: '`code:meaning[,…]`',
  }),
  PAYMENTS_REPEATED_CREATE: z
    .enum(['review', 'safe'])
    .default('review')
    .describe(
      'What happens to a payout whose order may exist after the confirmation window. `review`: a person decides. `safe`: the create is sent again; set it only if the provider refuses a second create with the same `outOrderId`.',
    ),
  PAYOUTS_CONFIRMATION_WINDOW: duration
    .prefault('10m')
    .describe(
      'How long a create of unknown outcome is confirmed while the provider answers "order not exist" (900004). Spec: Errors.',
    ),
  PAYOUTS_CREATE_CHECK: z
    .enum(['doubtful', 'always'])
    .default('doubtful')
    .describe(
      'When to confirm before a create is sent: for doubtful starts, or always. Set `always` where the retention of the namespace is shorter than the memory of the provider ([decision 2](decisions/0002-histories-as-evidence.md)).',
    ),
  PAYOUTS_TEMPORAL_RECOVERED_AT: recoveredAt.meta({
    description:
      "Set it after Temporal's database was restored to an earlier state ([what to do](operations.md#temporals-database-was-restored)). Payouts that started before it are confirmed over the confirmation window before a create is sent.",
    valueType: 'ISO 8601 instant in the past',
  }),
  PAYOUTS_POLL_FIRST: duration
    .prefault('30s')
    .describe('The first wait between two polls of an order. Each further wait doubles. Spec: Events 2.'),
  PAYOUTS_POLL_MAX: duration.prefault('10m').describe('The longest wait between two polls of an order.'),
  PAYOUTS_APPROVAL_EXPIRES: duration
    .prefault('24h')
    .describe('How long a payout waits for approval before it ends `NOT_CREATED` with `APPROVAL_EXPIRED`.'),
  // A Temporal Schedule counts in seconds.
  PAYOUTS_RECONCILE_EVERY: duration
    .refine((ms) => ms >= 1_000, 'must be at least 1s')
    .prefault('15m')
    .describe(
      'How often reconciliation runs, at least `1s`. It runs at least as often as the first `PAYOUTS_FOLLOW_UP`.',
    ),
  ...followUpShape,
  PAYOUTS_STUCK_AFTER: duration
    .prefault('1d')
    .describe('When an order that is still open gets the attention flag `STUCK`.'),
  PAYOUTS_CALL_WAITS: duration
    .prefault('5m')
    .describe(
      'When a payout whose call waits for its turn or its answer gets the attention flag `CALL_WAITS`.',
    ),
  PAYOUTS_BATCH_WINDOW: z.coerce
    .number()
    .int()
    .min(1)
    .max(5_000)
    .default(200)
    .describe('How many payouts of one batch may be on their way to their order at once.'),
  PAYOUTS_WORKFLOW_BUNDLE: z.string().min(1).optional().meta({
    description:
      'A file that `npm run bundle-workflows -- FILE` wrote from the same sources. With it, a worker starts some seconds sooner.',
    valueType: 'path',
  }),
  PAYOUTS_METRICS_LISTEN: z.string().optional().meta({
    description: 'Where the worker serves [Prometheus metrics](operations.md#metrics), without a key.',
    valueType: '`IP:port`',
  }),
  ...logLevelShape,
};

const workerSchema = z.object(workerShape).superRefine((env, context) => {
  if (env.PAYMENTS_SIGNER !== 'none' && !env.PAYMENTS_SIGNING_KEY)
    context.addIssue({
      code: 'custom',
      path: ['PAYMENTS_SIGNING_KEY'],
      message: 'is needed by PAYMENTS_SIGNER',
    });
});

export type WorkerEnvironment = z.output<typeof workerSchema>;

export interface WorkerConfig {
  env: WorkerEnvironment;
  keys: Keys;
  applications: ReadonlyMap<string, Application>;
}

/** Everything a worker needs. Throws `ConfigError`. */
export function workerConfig(environment: Environment): WorkerConfig {
  const parsed = workerSchema.safeParse(withoutEmpty(environment));
  const applications = readApplications(environment);
  const keys = readKeys(environment, ['PAYOUTS_ENCRYPTION_KEYS', 'PAYOUTS_TOKEN_KEYS']);
  const problems = [
    ...(parsed.success ? [] : fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`)),
    ...(applications.ok ? [] : applications.problems),
    ...(keys.ok ? [] : keys.problems),
  ];
  if (!parsed.success || !applications.ok || !keys.ok) throw new ConfigError([...new Set(problems)]);
  return { env: parsed.data, keys: keys.value, applications: applications.value };
}

/** What one payout keeps of the configuration for its whole life. */
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
    stuckAfterMs: env.PAYOUTS_STUCK_AFTER,
    callWaitsMs: env.PAYOUTS_CALL_WAITS,
  };
}

/** What activities read at each send, so that a setting that was withdrawn no longer applies to open payouts. */
export function sendPolicy(env: WorkerEnvironment): SendPolicy {
  return {
    createCheck: env.PAYOUTS_CREATE_CHECK,
    repeatedCreate: env.PAYMENTS_REPEATED_CREATE,
    recoveredAtMs: env.PAYOUTS_TEMPORAL_RECOVERED_AT,
    visibleWithinMs: activityTimeoutMs(env.PAYMENTS_CALL_TIMEOUT) + env.PAYOUTS_CONFIRMATION_WINDOW,
  };
}
