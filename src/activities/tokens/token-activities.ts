/** The calls that give tokens. What they got goes sealed to the workflow, and open only into this process's cache. */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { UserTokens } from '../../domain/provider-records.ts';
import { type Grant, type TokenOwner, tokenKind } from '../../domain/token-record.ts';
import { fingerprint, type TokenSeal } from '../../encryption/token-seal.ts';
import { NotSentError, type PaymentsClient, PaymentsError } from '../../payments/index.ts';
import type { Random, Surroundings } from '../../surroundings/surroundings.ts';
import { type Claim, claimSend } from '../payout/send-once.ts';
import { asFailure } from '../shared/failures.ts';
import { withHeartbeats } from '../shared/heartbeats.ts';
import type { AuthorizationActivities, TokenActivities } from '../shared/types.ts';
import { ownRun, type WorkflowRun } from './recall-grant.ts';

export interface TokenDependencies {
  environment: string;
  app: string;
  client: Pick<PaymentsClient, 'applicationToken' | 'refreshUserToken' | 'exchangeCode'>;
  seal: TokenSeal;
  assertAttemptIsCurrent: Claim;
  /** Counted from an activity's start: later than this nothing is sent. */
  sendWithinMs: number;
  /** This process uses the tokens too: it need not ask the renewal for what it has just got. */
  feed(owner: TokenOwner, accessToken: string, livesMs: number): void;
  surroundings: Surroundings;
  histories: {
    /** The grant after the one with this sealed refresh token, where another run of this renewal has obtained one. */
    newerThan(own: WorkflowRun, sealedRefresh: string): Promise<Grant | undefined>;
    /** A Workflow Reset made this run: what it is about to send may have been sent. */
    isReset(own: WorkflowRun): Promise<boolean>;
  };
  /** Hands a user's tokens to their renewal, which starts with them if it does not run. Rejects only in the end. */
  handOver(owner: TokenOwner, grant: Grant): Promise<void>;
}

export function tokenActivities(parts: TokenDependencies): TokenActivities & AuthorizationActivities {
  const { client, seal, assertAttemptIsCurrent, feed } = parts;
  const deadline = () => parts.surroundings.clock.nowMs() + parts.sendWithinMs;

  const userGrant = (owner: TokenOwner, tokens: UserTokens): Grant => ({
    access: seal.seal(tokens.accessToken, owner, 'access'),
    fingerprint: fingerprint(tokens.accessToken),
    livesMs: tokens.expiresInSeconds * 1_000,
    refresh: seal.seal(tokens.refreshToken, owner, 'refresh'),
    refreshLivesMs: tokens.refreshTokenExpiresInSeconds * 1_000,
  });

  return {
    fetchApplicationToken: (owner) =>
      call(parts, owner, async () => {
        const { accessToken, expiresInSeconds } = await client.applicationToken({ deadline: deadline() });
        const livesMs = expiresInSeconds * 1_000;
        feed(owner, accessToken, livesMs);
        const access = seal.seal(accessToken, owner, 'access');
        return { access, fingerprint: fingerprint(accessToken), livesMs };
      }),

    refreshUserToken: (owner, { refresh, line, triedBefore }) =>
      call(
        parts,
        owner,
        async () => {
          const options = { openId: owner.openId ?? '', background: line === 'due', deadline: deadline() };
          const newer = await parts.histories.newerThan(ownRun(), refresh);
          if (newer) return newer;
          const refreshToken = seal.open(refresh, owner, 'refresh');
          await claim(assertAttemptIsCurrent);
          const tokens = await client.refreshUserToken(refreshToken, options);
          feed(owner, tokens.accessToken, tokens.expiresInSeconds * 1_000);
          return userGrant(owner, tokens);
        },
        triedBefore,
      ),

    exchangeCode: (owner, sealedCode) =>
      call(parts, owner, async () => {
        const options = { background: true, deadline: deadline() };
        const code = seal.open(sealedCode, owner, 'code');
        if (await parts.histories.isReset(ownRun()))
          throw ApplicationFailure.create({ type: 'MAY_BE_USED', message: 'this run was made by a reset' });
        await claim(assertAttemptIsCurrent);
        const tokens = await client.exchangeCode(code, options);
        const user = { ...owner, openId: tokens.openId };
        await stored(parts.handOver(user, userGrant(user, tokens)));
        return { openId: tokens.openId };
      }),
  };
}

function call<T>(
  { environment, app, surroundings: { clock, random } }: TokenDependencies,
  owner: TokenOwner,
  work: () => Promise<T>,
  triedBefore = false,
): Promise<T> {
  if (owner.environment !== environment || owner.app !== app)
    throw ApplicationFailure.create({
      type: 'WRONG_WORKER',
      message: `this worker serves ${app} of ${environment}, the token is for ${owner.app} of ${owner.environment}`,
    });
  return withHeartbeats(clock, async () => {
    try {
      return await work();
    } catch (error) {
      throw explained(error, random, owner, triedBefore);
    }
  });
}

/** A process that was frozen must not use up a refresh token that another has used meanwhile. */
async function claim(assertAttemptIsCurrent: Claim): Promise<void> {
  try {
    await claimSend(assertAttemptIsCurrent);
  } catch {
    throw ApplicationFailure.create({ type: 'NOT_SENT', message: 'Temporal does not confirm this attempt' });
  }
}

/** The code has been used up for these tokens: a handover that fails is no refusal, and no lost answer either. */
async function stored(handingOver: Promise<void>): Promise<void> {
  try {
    await handingOver;
  } catch (error) {
    const why = error instanceof Error ? error.name : 'unknown';
    throw ApplicationFailure.create({
      type: 'NOT_STORED',
      message: `the provider gave tokens, and their renewal could not be told (${why})`,
    });
  }
}

/** A refresh token that is refused after an attempt that broke off was probably used up by that one. */
function explained(error: unknown, random: Random, owner: TokenOwner, triedBefore: boolean): unknown {
  const refused =
    error instanceof PaymentsError && !(error instanceof NotSentError) && !error.mayHaveTakenEffect;
  const first = activityInfo().attempt === 1 && !triedBefore;
  if (!refused || tokenKind(owner) === 'application' || first) return asFailure(error, random);
  const failure = asFailure(error, random);
  if (failure instanceof ApplicationFailure)
    return ApplicationFailure.create({
      type: failure.type ?? 'REFUSED',
      message: `${failure.message}; an earlier attempt, whose answer was lost, may have used it up`,
      ...(failure.nextRetryDelay !== undefined &&
        failure.nextRetryDelay !== null && { nextRetryDelay: failure.nextRetryDelay }),
    });
  return failure;
}
