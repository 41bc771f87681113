/**
 * Exchanges one authorization code. The activity hands the tokens to the user's renewal; this workflow never sees them.
 * The API server starts it once per attempt, when the browser returns.
 */
import { ApplicationFailure, CancellationScope, sleep, TimeoutFailure } from '@temporalio/workflow';
import type { AuthorizationOutcome, TokenOwner } from '../../contract/tokens.ts';
import type { AuthorizationAttempt } from '../../contract/workflows.ts';
import { activityCause, checks, exchangeCalls, orBadInput } from '../shared/calls.ts';

/** The provider has not used the code, so it can be exchanged again. */
const CODE_NOT_USED = ['RATE_LIMITED', 'UNAVAILABLE', 'NOT_SENT', 'LEASE_MOVED'];
const REFUSALS = ['REFUSED', 'UNAUTHORIZED', 'ILLEGAL_PARAMETER', 'INVALID_REQUEST'];
const MAX_RETRIES = 10;

/** The provider's authorization page for a browser, without `state`. Makes no call. */
export async function authorizationLink(owner: TokenOwner): Promise<string> {
  return (await orBadInput(checks.prepareAuthorization(owner))).link;
}

export async function userAuthorization(attempt: AuthorizationAttempt): Promise<AuthorizationOutcome> {
  return CancellationScope.nonCancellable(() => exchange(attempt));
}

const OUTCOMES = {
  EXPIRED: 'This took longer than 30 minutes. Please begin again.',
  REFUSED: 'The provider did not accept the authorization. Please begin again.',
  UNAVAILABLE: 'The provider cannot be reached now. Please begin again later.',
  UNCERTAIN: "The provider's response was lost, and a code works only once. Please begin again.",
  NOT_STORED: 'Access was granted, but it could not be stored. Please begin again.',
} as const;

async function exchange({ environment, app, code }: AuthorizationAttempt): Promise<AuthorizationOutcome> {
  const owner = { environment, app };
  const plan = await orBadInput(checks.prepareToken(owner));
  for (let retriesLeft = MAX_RETRIES; ; retriesLeft -= 1) {
    try {
      const { openId } = await exchangeCalls(owner, plan).exchangeCode(owner, code);
      return { outcome: 'GRANTED', sentence: 'Access was granted. You can close this page.', openId };
    } catch (error) {
      const outcome = outcomeOf(error);
      if (outcome !== 'UNAVAILABLE' || retriesLeft === 0) return { outcome, sentence: OUTCOMES[outcome] };
    }
    await sleep('2 seconds');
  }
}

/** `UNCERTAIN` unless the failure proves whether the code was used: the worker may have died after the send. */
function outcomeOf(error: unknown): keyof typeof OUTCOMES {
  const cause = activityCause(error);
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START') return 'EXPIRED';
  const type = cause instanceof ApplicationFailure ? (cause.type ?? '') : '';
  if (type === 'NOT_STORED') return 'NOT_STORED';
  if (CODE_NOT_USED.includes(type)) return 'UNAVAILABLE';
  return REFUSALS.includes(type) ? 'REFUSED' : 'UNCERTAIN';
}
