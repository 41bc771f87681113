/** The calls that return tokens: sealed to the workflow, and in the clear only to this process's cache. */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { ApplicationToken, UserTokens } from '../../contract/provider-records.ts';
import type { Grant, TokenOwner } from '../../contract/tokens.ts';
import { tokenKind } from '../../domain/tokens.ts';
import { fingerprint, type TokenSeal } from '../../encryption/key-ring.ts';
import { type PaymentsClient, PaymentsError } from '../../payments/index.ts';
import type { Random, Runtime } from '../../runtime/runtime.ts';
import { type Claim, claimSend } from '../payout/send-once.ts';
import { ownRun, requireHere, withHeartbeats } from '../shared/execution.ts';
import { asFailure, failure } from '../shared/failures.ts';
import type { GrantHistories } from './token-histories.ts';

interface TokenDependencies {
  environment: string;
  app: string;
  client: Pick<PaymentsClient, 'applicationToken' | 'refreshUserToken' | 'exchangeCode'>;
  seal: TokenSeal;
  /** Opens authorization codes, which API servers seal. */
  codes: TokenSeal;
  claim: Claim;
  /** The deadline of each send, from the activity's start. */
  sendWithinMs: number;
  cache(owner: TokenOwner, accessToken: string, lifetimeMs: number): void;
  runtime: Runtime;
  histories: Omit<GrantHistories, 'newestElsewhere'>;
  /** Hands a user's tokens over to their renewal, and starts it if necessary. Rejects only after all retries. */
  handOver(owner: TokenOwner, grant: Grant): Promise<void>;
}

export function recallActivities(histories: Pick<GrantHistories, 'newestElsewhere'>) {
  return {
    /** The newest grant of all other runs of this renewal; null if there is none. */
    recallGrant: async (_owner: TokenOwner) => (await histories.newestElsewhere(ownRun())) ?? null,
  };
}

interface RefreshRequest {
  /** Sealed. */
  refresh: string;
  lane: 'urgent' | 'due';
  /** An earlier activity with this refresh token got no response. It may have used up the token. */
  triedBefore: boolean;
}

export type TokenActivities = ReturnType<typeof tokenActivities>;

/** They return sealed tokens, and keep the access token in the memory of the worker. */
export function tokenActivities(parts: TokenDependencies) {
  const { client, seal, codes, cache, histories } = parts;
  const deadline = () => parts.runtime.clock.nowMs() + parts.sendWithinMs;

  const grant = (owner: TokenOwner, token: ApplicationToken, obtainedAtMs: number): Grant => ({
    access: seal.seal(token.accessToken, owner, 'access'),
    fingerprint: fingerprint(token.accessToken),
    lifetimeMs: token.expiresInSeconds * 1_000,
    obtainedAtMs,
  });
  const userGrant = (owner: TokenOwner, tokens: UserTokens, obtainedAtMs: number): Grant => ({
    ...grant(owner, tokens, obtainedAtMs),
    refresh: seal.seal(tokens.refreshToken, owner, 'refresh'),
    refreshLifetimeMs: tokens.refreshTokenExpiresInSeconds * 1_000,
  });

  return {
    fetchApplicationToken: (owner: TokenOwner) =>
      call(parts, owner, async (): Promise<Grant> => {
        const token = await client.applicationToken({ deadline: deadline() });
        cache(owner, token.accessToken, token.expiresInSeconds * 1_000);
        return grant(owner, token, activityInfo().currentAttemptScheduledTimestampMs);
      }),

    /** If another run has already obtained a newer grant, returns that one and sends nothing. */
    refreshUserToken: (owner: TokenOwner, { refresh, lane, triedBefore }: RefreshRequest) =>
      call(
        parts,
        owner,
        async () => {
          const options = { openId: owner.openId ?? '', background: lane === 'due', deadline: deadline() };
          const newer = await histories.newerThan(ownRun(), refresh);
          if (newer) return newer;
          const refreshToken = seal.open(refresh, owner, 'refresh');
          const startedAtMs = await attemptStartedAtMs(histories);
          // A frozen process must not use a refresh token that another process has used since.
          await beforeSend(claimSend(parts.claim));
          const tokens = await client.refreshUserToken(refreshToken, options);
          cache(owner, tokens.accessToken, tokens.expiresInSeconds * 1_000);
          return userGrant(owner, tokens, startedAtMs);
        },
        triedBefore,
      ),

    /** Exchanges the code and hands the tokens over to the user's renewal. Does not return them. */
    exchangeCode: (owner: TokenOwner, sealedCode: string) =>
      call(parts, owner, async () => {
        const options = { background: true, deadline: deadline() };
        const code = codes.open(sealedCode, owner, 'code');
        if (await beforeSend(histories.isReset(ownRun())))
          throw failure('MAY_BE_USED', 'a reset made this run');
        const startedAtMs = await attemptStartedAtMs(histories);
        await beforeSend(claimSend(parts.claim));
        const tokens = await client.exchangeCode(code, options);
        const user = { ...owner, openId: tokens.openId };
        await stored(parts.handOver(user, userGrant(user, tokens, startedAtMs)));
        return { openId: tokens.openId };
      }),
  };
}

/** Read before the send, on Temporal's clock, so it is never later than the provider issued the tokens. */
async function attemptStartedAtMs(histories: Pick<GrantHistories, 'startedAtMs'>): Promise<number> {
  const { activityId, currentAttemptScheduledTimestampMs } = activityInfo();
  const startedAtMs = await beforeSend(histories.startedAtMs(ownRun(), activityId));
  return startedAtMs ?? currentAttemptScheduledTimestampMs;
}

function call<T>(
  { environment, app, runtime: { clock, random } }: TokenDependencies,
  owner: TokenOwner,
  work: () => Promise<T>,
  triedBefore = false,
): Promise<T> {
  requireHere({ environment, app }, owner);
  return withHeartbeats(clock, work).catch((error: unknown) => {
    throw tokenFailure(error, random, owner, triedBefore);
  });
}

/** A failure of Temporal before the send proves that the code or the refresh token is unused. */
function beforeSend<T>(request: Promise<T>): Promise<T> {
  return request.catch(() => {
    throw failure('NOT_SENT', 'Temporal did not confirm this attempt');
  });
}

/** The exchange succeeded, so a failed handover is neither a refusal nor a lost response. */
function stored(handover: Promise<void>): Promise<void> {
  return handover.catch((error: unknown) => {
    const cause = error instanceof Error ? error.name : 'unknown';
    throw failure('NOT_STORED', `the provider issued tokens, but their handover failed (${cause})`);
  });
}

/** If a refresh token is refused after an attempt without a response, that attempt probably used up the token. */
function tokenFailure(error: unknown, random: Random, owner: TokenOwner, triedBefore: boolean): unknown {
  const failed = asFailure(error, random);
  const isRefused = error instanceof PaymentsError && error.code !== 'NOT_SENT' && !error.mayHaveTakenEffect;
  const isFirst = activityInfo().attempt === 1 && !triedBefore;
  if (!isRefused || tokenKind(owner) === 'application' || isFirst) return failed;
  if (!(failed instanceof ApplicationFailure)) return failed;
  const { type, message, nextRetryDelay } = failed;
  const used = `${message}; an earlier attempt, whose response was lost, may have used it up`;
  return new ApplicationFailure(used, type, false, [], undefined, nextRetryDelay);
}
