/** The calls that give tokens. What they got goes sealed to the workflow, and open only into this process's cache. */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { type Grant, kindOf, type TokenOwner } from '../domain/token-record.ts';
import { fingerprint, type TokenSeal } from '../encryption/token-seal.ts';
import { NotSentError, type PaymentsClient, PaymentsError } from '../payments/index.ts';
import type { UserTokens } from '../payments/types.ts';
import { asFailure } from './failures.ts';
import { withHeartbeats } from './heartbeats.ts';
import { type Claim, claimSend } from './send-once.ts';
import type { AuthorizationActivities, TokenActivities } from './types.ts';

export interface TokenDependencies {
  environment: string;
  app: string;
  client: Pick<PaymentsClient, 'applicationToken' | 'refreshUserToken' | 'exchangeCode'>;
  seal: TokenSeal;
  stillOurs: Claim;
  /** This process uses the tokens too: it need not ask the renewal for what it has just got. */
  feed(owner: TokenOwner, accessToken: string, livesMs: number): void;
  /** Hands a user's tokens to their renewal, which starts with them if it does not run. Safe to repeat. */
  handOver(owner: TokenOwner, grant: Grant): Promise<void>;
}

export function tokenActivities(parts: TokenDependencies): TokenActivities & AuthorizationActivities {
  const { client, seal, stillOurs, feed } = parts;

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
        const { accessToken, expiresInSeconds } = await client.applicationToken();
        const livesMs = expiresInSeconds * 1_000;
        feed(owner, accessToken, livesMs);
        const access = seal.seal(accessToken, owner, 'access');
        return { access, fingerprint: fingerprint(accessToken), livesMs };
      }),

    refreshUserToken: (owner, sealedRefresh) =>
      call(parts, owner, async () => {
        const refreshToken = seal.open(sealedRefresh, owner, 'refresh');
        await claim(stillOurs);
        const tokens = await client.refreshUserToken(refreshToken, { openId: owner.openId ?? '' });
        feed(owner, tokens.accessToken, tokens.expiresInSeconds * 1_000);
        return userGrant(owner, tokens);
      }),

    exchangeCode: (owner, sealedCode) =>
      call(parts, owner, async () => {
        const code = seal.open(sealedCode, owner, 'code');
        await claim(stillOurs);
        const tokens = await client.exchangeCode(code);
        const user = { ...owner, openId: tokens.openId };
        await parts.handOver(user, userGrant(user, tokens));
        return { openId: tokens.openId };
      }),
  };
}

function call<T>(
  { environment, app }: TokenDependencies,
  owner: TokenOwner,
  work: () => Promise<T>,
): Promise<T> {
  if (owner.environment !== environment || owner.app !== app)
    throw ApplicationFailure.create({
      type: 'WRONG_WORKER',
      message: `this worker serves ${app} of ${environment}, the token is for ${owner.app} of ${owner.environment}`,
    });
  return withHeartbeats(async () => {
    try {
      return await work();
    } catch (error) {
      throw explained(error, owner);
    }
  });
}

/** A process that was frozen must not use up a refresh token that another has used meanwhile. */
async function claim(stillOurs: Claim): Promise<void> {
  try {
    await claimSend(stillOurs);
  } catch {
    throw ApplicationFailure.create({ type: 'NOT_SENT', message: 'Temporal does not confirm this attempt' });
  }
}

/** A refresh token that is refused after an attempt that broke off was probably used up by that one. */
function explained(error: unknown, owner: TokenOwner): unknown {
  const refused =
    error instanceof PaymentsError && !(error instanceof NotSentError) && !error.mayHaveTakenEffect;
  if (!refused || kindOf(owner) === 'application' || activityInfo().attempt === 1) return asFailure(error);
  const failure = asFailure(error);
  if (failure instanceof ApplicationFailure)
    return ApplicationFailure.create({
      type: failure.type ?? 'REFUSED',
      message: `${failure.message}; an earlier attempt, whose answer was lost, may have used it up`,
      ...(failure.nextRetryDelay !== undefined &&
        failure.nextRetryDelay !== null && { nextRetryDelay: failure.nextRetryDelay }),
    });
  return failure;
}
