/**
 * What a process reads from its environment, parsed once at its start. A bad or missing key stops the
 * process with its name; no value is ever quoted, for it may be a secret.
 */
import { z } from 'zod';
import { fieldErrors } from '../contract/payout-request.ts';
import { activityTimeoutMs } from '../domain/deadlines.ts';
import type { PayoutSettings, SendPolicy } from '../domain/payout.ts';
import type { CreateMeaning } from '../domain/provider-records.ts';
import { type Application, readApplications } from './applications.ts';
import { ConfigError } from './config-error.ts';
import { duration, durations } from './duration.ts';
import { type Keys, mayGoWithout, readKeys } from './encryption.ts';
import { type Environment, withoutEmpty } from './environment.ts';
import { logLevel } from './log-level.ts';

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

const settingsShape = {
  PAYMENTS_ENVIRONMENT: z.enum(['test', 'sandbox', 'production']),
  PAYMENTS_BASE_URL: z.url({ protocol: /^https?$/ }),
  PAYMENTS_AUTH_URL: z.url({ protocol: /^https?$/ }),
  PAYMENTS_GATEWAY_TOKEN: tokenKind,
  PAYMENTS_TRADE_TOKEN: tokenKind,
  PAYMENTS_TRADE_AUTH_SCHEME: z.enum(['Bearer', 'none']).default('Bearer'),
  PAYMENTS_AUTH_SPELLING: z.enum(['snake', 'camel']).default('snake'),
  PAYMENTS_SIGNER: z.string().default('none'),
  PAYMENTS_SIGNING_KEY: z.string().optional(),
  PAYMENTS_CALL_TIMEOUT: duration.default(20_000),
  PAYOUTS_WORKFLOW_BUNDLE: z.string().min(1).optional(),
  PAYMENTS_ARRIVAL_JITTER: duration.optional(),
  PAYMENTS_LOCK_LIFETIME: duration.default(60_000),
  PAYMENTS_CREATE_CODES: createCodes.default(new Map([['429', 'busy']])),
  PAYMENTS_REPEATED_CREATE: z.enum(['review', 'safe']).default('review'),
  PAYMENTS_CALLS_PER_SECOND: z.coerce.number().int().min(1).max(10_000).default(20),
  PAYOUTS_CONFIRMATION_WINDOW: duration.default(600_000),
  PAYOUTS_CREATE_CHECK: z.enum(['doubtful', 'always']).default('doubtful'),
  PAYOUTS_TEMPORAL_RECOVERED_AT: recoveredAt,
  PAYOUTS_POLL_FIRST: duration.default(30_000),
  PAYOUTS_POLL_MAX: duration.default(600_000),
  PAYOUTS_APPROVAL_EXPIRES: duration.default(86_400_000),
  // A Temporal Schedule counts in seconds.
  PAYOUTS_RECONCILE_EVERY: duration.refine((ms) => ms >= 1_000, 'must be at least 1s').default(900_000),
  PAYOUTS_FOLLOW_UP: durations.default([86_400_000, 604_800_000, 2_592_000_000]),
  PAYOUTS_STUCK_AFTER: duration.default(86_400_000),
  PAYOUTS_CALL_WAITS: duration.default(300_000),
  PAYOUTS_BATCH_WINDOW: z.coerce.number().int().min(1).max(5_000).default(200),
  PAYOUTS_TOKEN_KEYS: z.string().optional(),
  PAYOUTS_LOG_LEVEL: logLevel,
  PAYOUTS_METRICS_LISTEN: z.string().optional(),
};

const workerSchema = z.object(settingsShape).superRefine((env, context) => {
  if (!env.PAYOUTS_TOKEN_KEYS && !mayGoWithout(env))
    context.addIssue({
      code: 'custom',
      path: ['PAYOUTS_TOKEN_KEYS'],
      message: 'is missing: it seals tokens',
    });
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
  const keys = readKeys(environment);
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

/** What activities read at each send, so that a setting that was withdrawn has no effect on open payouts. */
export function sendPolicy(env: WorkerEnvironment): SendPolicy {
  return {
    createCheck: env.PAYOUTS_CREATE_CHECK,
    repeatedCreate: env.PAYMENTS_REPEATED_CREATE,
    recoveredAtMs: env.PAYOUTS_TEMPORAL_RECOVERED_AT,
    visibleWithinMs: activityTimeoutMs(env.PAYMENTS_CALL_TIMEOUT) + env.PAYOUTS_CONFIRMATION_WINDOW,
  };
}
