/** The calls that return tokens: sealed to the workflow, and in the clear only to this process's cache. */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { UserTokens } from '../../contract/provider-records.ts';
import type { Grant, TokenOwner } from '../../contract/tokens.ts';
import { tokenKind } from '../../domain/tokens.ts';
import { fingerprint, type TokenSeal } from '../../encryption/key-ring.ts';
import { type PaymentsClient, PaymentsError } from '../../payments/index.ts';
import type { Random, Runtime } from '../../runtime/runtime.ts';
import type { WorkflowRun } from '../../temporal/histories.ts';
import { type Claim, claimSend } from '../payout/send-once.ts';
import { requireHere, withHeartbeats } from '../shared/execution.ts';
import { asFailure } from '../shared/failures.ts';

export interface GrantHistories {
  newestElsewhere(own: WorkflowRun): Promise<Grant | undefined>;
  /** The newest grant, if another run obtained one after the grant with this sealed refresh token. */
  newerThan(own: WorkflowRun, sealedRefresh: string): Promise<Grant | undefined>;
  /** A Workflow Reset made this run, so what it sends may have been sent before. */
  isReset(own: WorkflowRun): Promise<boolean>;
  /** When the latest attempt of a running activity started. Unix milliseconds on Temporal's clock. */
  startedAtMs(own: WorkflowRun, activityId: string): Promise<number | undefined>;
}

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
  /** An earlier activity with this refresh token ended without an answer. It may have used up the token. */
  triedBefore: boolean;
}

export type TokenActivities = ReturnType<typeof tokenActivities>;

/** They return sealed tokens, and keep the access token in the memory of the worker. */
export function tokenActivities(parts: TokenDependencies) {
  const { client, seal, codes, cache, histories } = parts;
  const deadline = () => parts.runtime.clock.nowMs() + parts.sendWithinMs;

  const userGrant = (owner: TokenOwner, tokens: UserTokens, obtainedAtMs: number): Grant => ({
    access: seal.seal(tokens.accessToken, owner, 'access'),
    fingerprint: fingerprint(tokens.accessToken),
    lifetimeMs: tokens.expiresInSeconds * 1_000,
    obtainedAtMs,
    refresh: seal.seal(tokens.refreshToken, owner, 'refresh'),
    refreshLifetimeMs: tokens.refreshTokenExpiresInSeconds * 1_000,
  });

  return {
    fetchApplicationToken: (owner: TokenOwner) =>
      call(parts, owner, async (): Promise<Grant> => {
        const { accessToken, expiresInSeconds } = await client.applicationToken({ deadline: deadline() });
        const lifetimeMs = expiresInSeconds * 1_000;
        cache(owner, accessToken, lifetimeMs);
        const access = seal.seal(accessToken, owner, 'access');
        const { currentAttemptScheduledTimestampMs: obtainedAtMs } = activityInfo();
        return { access, fingerprint: fingerprint(accessToken), lifetimeMs, obtainedAtMs };
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
          await claimCurrent(parts.claim);
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
        if (await beforeSend(() => histories.isReset(ownRun())))
          throw ApplicationFailure.create({ type: 'MAY_BE_USED', message: 'a reset made this run' });
        const startedAtMs = await attemptStartedAtMs(histories);
        await claimCurrent(parts.claim);
        const tokens = await client.exchangeCode(code, options);
        const user = { ...owner, openId: tokens.openId };
        await stored(parts.handOver(user, userGrant(user, tokens, startedAtMs)));
        return { openId: tokens.openId };
      }),
  };
}

/** The run that scheduled the activity. */
function ownRun(): WorkflowRun {
  const { workflowExecution } = activityInfo();
  if (!workflowExecution) throw new Error('not an activity of a workflow');
  return workflowExecution;
}

/** Read before the send, on Temporal's clock, so it is never later than the provider issued the tokens. */
async function attemptStartedAtMs(histories: Pick<GrantHistories, 'startedAtMs'>): Promise<number> {
  const { activityId, currentAttemptScheduledTimestampMs } = activityInfo();
  const startedAtMs = await beforeSend(() => histories.startedAtMs(ownRun(), activityId));
  return startedAtMs ?? currentAttemptScheduledTimestampMs;
}

function call<T>(
  { environment, app, runtime: { clock, random } }: TokenDependencies,
  owner: TokenOwner,
  work: () => Promise<T>,
  triedBefore = false,
): Promise<T> {
  requireHere({ environment, app }, { environment: owner.environment, app: owner.app });
  return withHeartbeats(clock, async () => {
    try {
      return await work();
    } catch (error) {
      throw tokenFailure(error, random, owner, triedBefore);
    }
  });
}

/** Prevents a process that was frozen from using a refresh token that another process has used since. */
function claimCurrent(claim: Claim): Promise<void> {
  return beforeSend(() => claimSend(claim));
}

/** A failure of Temporal before the send proves that the code or the refresh token is unused. */
async function beforeSend<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch {
    throw ApplicationFailure.create({ type: 'NOT_SENT', message: 'Temporal did not confirm this attempt' });
  }
}

/** The exchange succeeded, so a failed handover is neither a refusal nor a lost answer. */
async function stored(handover: Promise<void>): Promise<void> {
  try {
    await handover;
  } catch (error) {
    const cause = error instanceof Error ? error.name : 'unknown';
    throw ApplicationFailure.create({
      type: 'NOT_STORED',
      message: `the provider issued tokens, but the handover to their renewal failed (${cause})`,
    });
  }
}

/** If a refresh token is refused after an attempt without an answer, that attempt probably used up the token. */
function tokenFailure(error: unknown, random: Random, owner: TokenOwner, triedBefore: boolean): unknown {
  const failure = asFailure(error, random);
  const isRefused = error instanceof PaymentsError && error.code !== 'NOT_SENT' && !error.mayHaveTakenEffect;
  const isFirst = activityInfo().attempt === 1 && !triedBefore;
  if (!isRefused || tokenKind(owner) === 'application' || isFirst) return failure;
  if (!(failure instanceof ApplicationFailure)) return failure;
  const { type, message, nextRetryDelay } = failure;
  return ApplicationFailure.create({
    type: type ?? 'REFUSED',
    message: `${message}; an earlier attempt, whose answer was lost, may have used it up`,
    ...(nextRetryDelay !== undefined && nextRetryDelay !== null && { nextRetryDelay }),
  });
}
