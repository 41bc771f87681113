/** Bad input: the only cause for which our workflows fail. Every check returns the bad fields. */
import { ApplicationFailure } from '@temporalio/activity';
import type { WorkerConfig } from '../../config/config.ts';
import { type FieldError, INVALID_PAYOUT_REQUEST } from '../../contract/failures.ts';

export const NOT_CONFIGURED: FieldError = { path: 'app', message: 'is not configured' };
const USER_MISSING = { path: 'openId', message: 'is required: calls use the token of a user' };

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
