/**
 * What a process reads from its environment, parsed once at its start. A bad or missing key stops the
 * process with its name; no value is ever quoted, for it may be a secret.
 */
import { z } from 'zod';
import { fieldErrors } from '../contract/payout-request.ts';
import type { PayoutSettings } from '../domain/payout.ts';
import type { CreateMeaning } from '../payments/index.ts';
import { type Application, readApplications } from './applications.ts';
import { duration } from './duration.ts';
import type { Environment } from './environment.ts';

export type { Environment } from './environment.ts';

/** Thrown at start-up: `problems` has one line for each bad key. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`the environment is not usable:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

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

const tokenKind = z.enum(['application', 'user']).default('application');

const settingsShape = {
  PAYMENTS_ENVIRONMENT: z.enum(['test', 'sandbox', 'production']),
  PAYMENTS_BASE_URL: z.url({ protocol: /^https?$/ }),
  PAYMENTS_AUTH_URL: z.url({ protocol: /^https?$/ }),
  PAYMENTS_GATEWAY_TOKEN: tokenKind,
  PAYMENTS_TRADE_TOKEN: tokenKind,
  PAYMENTS_TRADE_AUTH_SCHEME: z.enum(['Bearer', 'none']).default('Bearer'),
  PAYMENTS_SIGNER: z.string().default('none'),
  PAYMENTS_SIGNING_KEY: z.string().optional(),
  PAYMENTS_CALL_TIMEOUT: duration.default(20_000),
  PAYMENTS_LOCK_LIFETIME: duration.default(60_000),
  PAYMENTS_CREATE_CODES: createCodes.default(new Map([['429', 'busy']])),
  PAYMENTS_REPEATED_CREATE: z.enum(['review', 'safe']).default('review'),
  PAYMENTS_CALLS_PER_SECOND: z.coerce.number().int().min(1).max(10_000).default(20),
  PAYOUTS_SETTLE_WINDOW: duration.default(600_000),
  PAYOUTS_CREATE_CHECK: z.enum(['doubtful', 'always']).default('doubtful'),
  PAYOUTS_POLL_FIRST: duration.default(30_000),
  PAYOUTS_POLL_MAX: duration.default(600_000),
  PAYOUTS_APPROVAL_EXPIRES: duration.default(86_400_000),
  PAYOUTS_STUCK_AFTER: duration.default(86_400_000),
  PAYOUTS_CALL_WAITS: duration.default(300_000),
};

const workerSchema = z.object(settingsShape).superRefine((env, context) => {
  if (env.PAYMENTS_ENVIRONMENT !== 'test' || !isLoopback(env.PAYMENTS_BASE_URL))
    context.addIssue({
      code: 'custom',
      path: ['PAYMENTS_ENVIRONMENT'],
      message:
        'payloads are not encrypted yet: only PAYMENTS_ENVIRONMENT=test with a loopback PAYMENTS_BASE_URL starts',
    });
  for (const key of ['PAYMENTS_GATEWAY_TOKEN', 'PAYMENTS_TRADE_TOKEN'] as const)
    if (env[key] === 'user')
      context.addIssue({
        code: 'custom',
        path: [key],
        message: 'user tokens are not renewed yet: use application',
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
  applications: ReadonlyMap<string, Application>;
}

/** Everything a worker needs. Throws `ConfigError`. */
export function workerConfig(environment: Environment): WorkerConfig {
  const parsed = workerSchema.safeParse(withoutEmpty(environment));
  const applications = readApplications(environment);
  const problems = [
    ...(parsed.success ? [] : fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`)),
    ...(applications.ok ? [] : applications.problems),
  ];
  if (!parsed.success || !applications.ok) throw new ConfigError(problems);
  return { env: parsed.data, applications: applications.value };
}

/** What one payout keeps of the configuration for its whole life. */
export function payoutSettings(env: WorkerEnvironment, apiQueue: string): PayoutSettings {
  return {
    environment: env.PAYMENTS_ENVIRONMENT,
    apiQueue,
    callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT,
    lockLifetimeMs: env.PAYMENTS_LOCK_LIFETIME,
    settleWindowMs: env.PAYOUTS_SETTLE_WINDOW,
    createCheck: env.PAYOUTS_CREATE_CHECK,
    repeatedCreate: env.PAYMENTS_REPEATED_CREATE,
    pollFirstMs: env.PAYOUTS_POLL_FIRST,
    pollMaxMs: env.PAYOUTS_POLL_MAX,
    approvalExpiresMs: env.PAYOUTS_APPROVAL_EXPIRES,
    stuckAfterMs: env.PAYOUTS_STUCK_AFTER,
    callWaitsMs: env.PAYOUTS_CALL_WAITS,
  };
}

/** An empty variable is an absent one: shells and compose files write them so. */
export function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
}

export function isLoopback(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
