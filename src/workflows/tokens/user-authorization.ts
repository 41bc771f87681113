/**
 * The exchange of one authorization code. The tokens go to the user's renewal and are never seen here. Started by the
 * API server when the browser is back, once for each attempt.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { TokenPlan } from '../../activities/shared/types.ts';
import type { AuthorizationAttempt } from '../../contract/workflows.ts';
import type { AuthorizationOutcome } from '../../domain/authorization.ts';
import type { TokenOwner } from '../../domain/token-record.ts';
import { exchanging, local } from '../shared/calls.ts';

/** Nothing reached the provider, so the code is as good as before. */
const SURELY_NOT_USED = ['RATE_LIMITED', 'UNAVAILABLE', 'NOT_SENT', 'LEASE_MOVED'];
/** The provider said no. */
const REFUSALS = ['REFUSED', 'UNAUTHORISED', 'ILLEGAL_PARAMETER', 'INVALID_REQUEST'];
const TRIES = 10;

/** Where a browser is sent to authorize, without `state`. Calls nobody. */
export async function authorizationLink(place: TokenOwner): Promise<string> {
  return (await local.prepareAuthorization(place)).link;
}

export async function userAuthorization({
  environment,
  app,
  code,
}: AuthorizationAttempt): Promise<AuthorizationOutcome> {
  const place = { environment, app };
  return CancellationScope.nonCancellable(async () =>
    exchanged(place, await local.prepareToken(place), code),
  );
}

const OUTCOMES = {
  EXPIRED: 'This took longer than 30 minutes. Please begin again.',
  REFUSED: 'The provider did not accept the authorization. Please begin again.',
  UNAVAILABLE: 'The provider cannot be reached now. Please begin again later.',
  UNCERTAIN: "The provider's answer was lost, and a code works only once. Please begin again.",
  NOT_STORED: 'Access was granted, but it could not be stored. Please begin again.',
} as const;

async function exchanged(place: TokenOwner, plan: TokenPlan, code: string): Promise<AuthorizationOutcome> {
  for (let left = TRIES; ; left -= 1) {
    try {
      const { openId } = await exchanging(place, plan).exchangeCode(place, code);
      return { outcome: 'GRANTED', sentence: 'Access was granted. You can close this page.', openId };
    } catch (error) {
      const outcome = outcomeOf(error);
      if (outcome !== 'UNAVAILABLE' || left === 0) return { outcome, sentence: OUTCOMES[outcome] };
    }
    await sleep('2 seconds');
  }
}

/** Whatever is not known to have left the code unused is not certain: the worker died, say. */
function outcomeOf(error: unknown): keyof typeof OUTCOMES {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START') return 'EXPIRED';
  const type = cause instanceof ApplicationFailure ? (cause.type ?? '') : '';
  if (type === 'NOT_STORED') return 'NOT_STORED';
  if (SURELY_NOT_USED.includes(type)) return 'UNAVAILABLE';
  return REFUSALS.includes(type) ? 'REFUSED' : 'UNCERTAIN';
}
