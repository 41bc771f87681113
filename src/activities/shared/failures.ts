/** The Temporal failures of activities, and their meanings. `workflows/shared/calls.ts` decides which types are retried. */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { WorkerConfig } from '../../config/config.ts';
import type { Explained } from '../../contract/attention-codes.ts';
import { type FieldError, INVALID_PAYOUT_REQUEST } from '../../contract/failures.ts';
import type { CheckResult } from '../../contract/fields.ts';
import { hasCode, PaymentsError, type PaymentsErrorCode } from '../../payments/index.ts';
import type { Random } from '../../runtime/runtime.ts';

/** The provider counts calls in a sliding second. */
const RATE_LIMIT_WINDOW_MS = 1_000;
/** The handover of a lease takes longer, but the queue holds the call until it is complete. */
const LEASE_MOVED_DELAY_MS = 50;

/** Null if the call fails with one of the codes. */
export async function nullOn<T>(codes: readonly PaymentsErrorCode[], call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (hasCode(error, ...codes)) return null;
    throw error;
  }
}

/** The failure of a provider error. Returns any other error unchanged. */
export function asFailure(error: unknown, random: Random): unknown {
  if (!(error instanceof PaymentsError)) return error;
  const { code, message, operation, httpStatus, serviceCode } = error;
  // Another process owns the lease now and takes the call.
  if (error.reason === 'gate')
    return ApplicationFailure.create({ type: 'LEASE_MOVED', message, nextRetryDelay: LEASE_MOVED_DELAY_MS });
  return ApplicationFailure.create({
    type: code,
    message,
    details: [{ operation, httpStatus, serviceCode }],
    // Random, so that calls that were refused together do not return together.
    ...(code === 'RATE_LIMITED' && { nextRetryDelay: RATE_LIMIT_WINDOW_MS * (1.1 + random.number()) }),
  });
}

interface Waits {
  minMs: number;
  maxMs: number;
  growth: number;
}

/**
 * Waits by a retry, which writes no history, occupies no slot and survives restarts. Not an error. Each attempt waits
 * longer. `share`: the part of the wait that is used.
 */
export function waitByRetry(
  type: keyof typeof ACTIVITY_FAILURES,
  message: string,
  { minMs, maxMs, growth }: Waits,
  share = 1,
): ApplicationFailure {
  // The limit keeps the power finite.
  const waitMs = Math.min(maxMs, minMs * growth ** Math.min(30, activityInfo().attempt));
  const category = ApplicationFailureCategory.BENIGN;
  return ApplicationFailure.create({ type, message, category, nextRetryDelay: share * waitMs });
}

export function failure(type: keyof typeof ACTIVITY_FAILURES, message: string): ApplicationFailure {
  return ApplicationFailure.create({ type, message });
}

export const NOT_CONFIGURED: FieldError = {
  path: 'app',
  message: 'is not an application of the workers: correct it, or add it to PAYOUTS_APPS_FILE',
};
const USER_MISSING = { path: 'openId', message: 'is required: calls use the token of a user' };

/** Bad input: the only cause for which our workflows fail. Every check returns the bad fields. */
export function invalid(errors: FieldError[], what = 'payout request'): ApplicationFailure {
  const message = errors.map((error) => `${error.path} ${error.message}`).join('; ');
  return ApplicationFailure.nonRetryable(
    `the ${what} is not valid: ${message}`,
    INVALID_PAYOUT_REQUEST,
    errors,
  );
}

export function refuse(errors: FieldError[], what?: string): void {
  if (errors.length > 0) throw invalid(errors, what);
}

export function valid<T>(checked: CheckResult<T>, what?: string): T {
  if (!checked.ok) throw invalid(checked.errors, what);
  return checked.value;
}

/** The application is not configured here, or the starter meant another environment. */
export function notHere(
  { env, applications }: WorkerConfig,
  app: string,
  environment: unknown,
): FieldError[] {
  const here = env.PAYMENTS_ENVIRONMENT;
  const problems = applications.has(app) ? [] : [NOT_CONFIGURED];
  if (environment !== undefined && environment !== here)
    problems.push({ path: 'environment', message: `this worker serves ${here}; the start names another` });
  return problems;
}

/** The workflow id makes the caller's id unique: under another workflow id, the same payout could start twice. */
export function otherId(path: string, workflowId: string, expected: string): FieldError[] {
  if (workflowId === expected) return [];
  return [{ path, message: `must be started under the workflow id ${expected}` }];
}

/** Calls to `endpoints` use the token of a user, and the request names no user. */
export function userMissing(
  { env }: WorkerConfig,
  openId: string | undefined,
  endpoints: readonly ('GATEWAY' | 'TRADE')[] = ['GATEWAY', 'TRADE'],
): FieldError[] {
  const asUser = endpoints.some((endpoint) => env[`PAYMENTS_${endpoint}_TOKEN`] === 'user');
  return asUser && openId === undefined ? [USER_MISSING] : [];
}

const WAITS = 'Nothing. The activity is retried.';

/** As histories and the Temporal UI show them. `docs/reference.md` is generated from this table. */
export const ACTIVITY_FAILURES = {
  RATE_LIMITED: {
    meaning: 'The provider returned 429: it did not serve the call.',
    action:
      'Nothing at first: reads are sent again after a second or two. If it stays, lower the rate with `payouts rate-limit --calls-per-second N --by NAME`, and find out who else calls with this application.',
  },
  SYSTEM_ERROR: {
    meaning: 'The provider returned 900000.',
    action: 'Nothing. The call is repeated, or the next poll follows. If it stays, ask the provider.',
  },
  ILLEGAL_PARAMETER: {
    meaning: 'The provider called the request illegal (900002). The call is not retried.',
    action: 'Read the message. Check the request and the settings.',
  },
  ORDER_NOT_EXIST: {
    meaning: 'The provider knows no such order (900004). That does not prove that there is none.',
    action: 'Nothing. The payout queries again.',
  },
  UNAUTHORIZED: {
    meaning: 'The provider returned 401 or 403.',
    action:
      "Run `payouts tokens` and `doctor`. Check the application, the provider's allow-list and which token goes where.",
  },
  UNAVAILABLE: {
    meaning: 'The request did not arrive, or a read got no usable response.',
    action: 'Check the network and the provider with `payouts doctor`.',
  },
  NOT_SENT: {
    meaning:
      'The worker did not send the request: no token, no signature, no time left, or no confirmation by Temporal. The message says which.',
    action:
      'With `token`, see the [tokens](#tokens). With `signer`, check `PAYMENTS_SIGNER`. Otherwise nothing.',
  },
  AMBIGUOUS: {
    meaning: 'A call that must not be repeated was sent, and no trustworthy response came.',
    action: 'Nothing. The workflow finds out before anything is sent again.',
  },
  MALFORMED_ANSWER: {
    meaning: "The provider's response to a read is not what its specification describes.",
    action: 'Send the provider the message, which names the field.',
  },
  CREATE_REFUSED: {
    meaning: 'A create call was refused with a code that `PAYMENTS_CREATE_CODES` lists.',
    action: 'Nothing. The payout acts by the meaning of the code.',
  },
  REFUSED: {
    meaning: 'A call was refused with a code that the specification does not name.',
    action: 'Ask the provider what the code in the message means.',
  },
  INVALID_REQUEST: {
    meaning: 'The request breaks the format of the specification. Nothing was sent.',
    action: 'Correct the field that the message names.',
  },
  LEASE_MOVED: {
    meaning: 'Another process owns the rate-limit lease now. Nothing was sent.',
    action: 'Nothing. The new owner takes the call.',
  },
  LEASE_LOST: {
    meaning: 'This process lost the rate-limit lease.',
    action: 'Nothing. Another process, or this one again, takes it.',
  },
  LEASE_OUTDATED: {
    meaning: "The rate-limit lease's workflow was reset, so its settings may be outdated. Nothing was sent.",
    action: 'Nothing. The workflow grants the lease again, with the current settings.',
  },
  WRONG_WORKER: {
    meaning: 'The worker serves another application or environment than the call is for.',
    action: 'Check `PAYMENTS_ENVIRONMENT` and the application names of the workers.',
  },
  PAUSED: {
    meaning: 'The application is paused, or has no shared settings. Not an error.',
    action: WAITS,
  },
  SETTINGS_MISSING: {
    meaning:
      'Nobody has set the [shared settings](operations.md#shared-settings) of the application, or the namespace has failed over since.',
    action: 'Run `payouts settings`, which says what to do.',
  },
  VISIBILITY_LAGS: { meaning: "Temporal's visibility does not show this run yet.", action: WAITS },
  NOTHING_CHANGED: {
    meaning: 'Too little has changed in the payouts of a batch. Not an error.',
    action: WAITS,
  },
  NOT_ENDED_YET: { meaning: 'The payout of a Nexus operation has not ended. Not an error.', action: WAITS },
  NOT_STORED: {
    meaning: 'The provider gave tokens for an authorization code, and they could not be stored.',
    action: 'Let the user authorize again.',
  },
  MAY_BE_USED: {
    meaning: 'The exchange of an authorization code was reset, and the code may have been used.',
    action: 'Let the user authorize again.',
  },
} satisfies Record<PaymentsErrorCode, Explained> & Record<string, Explained>;
