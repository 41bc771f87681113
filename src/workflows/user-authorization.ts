/**
 * One attempt of a user to authorize the application: its link, the way back once and only from the same
 * browser, and the exchange of the code. The tokens go to the user's renewal and are never seen here.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  setHandler,
  sleep,
} from '@temporalio/workflow';
import type { TokenPlan } from '../activities/types.ts';
import type { AuthorizationOutcome, CallBack } from '../domain/authorization.ts';
import { NOT_ACCEPTED_NOW } from '../domain/failure-types.ts';
import type { TokenOwner } from '../domain/token-record.ts';
import { callBackUpdate, linkUpdate } from './authorization-messages.ts';
import { exchanging, local } from './calls.ts';

export interface AuthorizationAttempt extends TokenOwner {
  /** The hash of what the browser that began it holds. */
  browser: string;
}

/** As long as a code lives at most: an attempt that takes longer could not be finished anyway. */
const ATTEMPT_EXPIRES = '30 minutes';
/** The service was surely not reached, so the code is as good as before. */
const SURELY_NOT_USED = ['RATE_LIMITED', 'UNAVAILABLE', 'NOT_SENT'];
const TRIES = 10;

export async function userAuthorization(attempt: AuthorizationAttempt): Promise<AuthorizationOutcome> {
  let plan: (TokenPlan & { link: string }) | undefined;
  let callBack: CallBack | undefined;
  let outcome: AuthorizationOutcome | undefined;

  setHandler(linkUpdate, async () => {
    await condition(() => plan !== undefined);
    return plan?.link ?? '';
  });
  setHandler(
    callBackUpdate,
    async (given) => {
      callBack = given;
      await condition(() => outcome !== undefined);
      return outcome ?? EXPIRED;
    },
    { validator: (given) => refuseForged(attempt, callBack, given) },
  );

  return CancellationScope.nonCancellable(async () => {
    plan = await local.prepareAuthorization({ environment: attempt.environment, app: attempt.app });
    await condition(() => callBack !== undefined, ATTEMPT_EXPIRES, { summary: 'the attempt expires' });
    outcome = callBack ? await ended(attempt, plan, callBack) : EXPIRED;
    await condition(allHandlersFinished);
    return outcome;
  });
}

const EXPIRED: AuthorizationOutcome = {
  outcome: 'EXPIRED',
  sentence: 'This took longer than 30 minutes. Please begin again.',
};
const DENIED: AuthorizationOutcome = {
  outcome: 'DENIED',
  sentence: 'Access was not granted. Nothing has changed.',
};
const REFUSED: AuthorizationOutcome = {
  outcome: 'REFUSED',
  sentence: 'The payments service did not accept the authorization. Please begin again.',
};
const UNCERTAIN: AuthorizationOutcome = {
  outcome: 'UNCERTAIN',
  sentence: 'The answer of the payments service was lost, and a code works only once. Please begin again.',
};

async function ended(
  attempt: TokenOwner,
  plan: TokenPlan,
  { code }: CallBack,
): Promise<AuthorizationOutcome> {
  if (code === undefined) return DENIED;
  const owner = { environment: attempt.environment, app: attempt.app };
  for (let left = TRIES; ; left -= 1) {
    try {
      const { openId } = await exchanging(plan).exchangeCode(owner, code);
      return { outcome: 'GRANTED', sentence: 'Access was granted. You can close this page.', openId };
    } catch (error) {
      const type = typeOf(error);
      if (type === undefined || type === 'AMBIGUOUS') return UNCERTAIN;
      if (left === 0 || !SURELY_NOT_USED.includes(type)) return REFUSED;
    }
    await sleep('2 seconds');
  }
}

/** Undefined when nobody knows: the worker died, or the activity ran out of time. */
function typeOf(error: unknown): string | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  return cause instanceof ApplicationFailure ? (cause.type ?? undefined) : undefined;
}

function refuseForged(attempt: AuthorizationAttempt, known: CallBack | undefined, given: CallBack): void {
  if (given?.browser !== attempt.browser) throw notAccepted('this attempt was begun in another browser');
  if (known) throw notAccepted('this attempt has been used');
}

function notAccepted(problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problem, NOT_ACCEPTED_NOW);
}
