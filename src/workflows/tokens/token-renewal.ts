/**
 * Keeps one token valid: the application's own, or one user's. Nothing else renews the token; renewals begin long before
 * it expires and run one at a time. After a refused refresh token, the workflow is flagged and waits for the user to
 * authorize again. Runs until it is canceled.
 */
import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import type { recallActivities } from '../../activities/tokens/token-activities.ts';
import type { TokenAttentionCode } from '../../contract/attention-codes.ts';
import type { Grant, TokenOwner } from '../../contract/tokens.ts';
import {
  type HeldGrant,
  lateAtMs,
  pausedUntilMs,
  refreshEndsSoonAtMs,
  type TokenRecord,
  urgentAtMs,
} from '../../domain/tokens.ts';
import { causeOf, checks, orBadInput, tokenCalls, UNTIL_TEMPORAL_ANSWERS } from '../shared/calls.ts';
import { runShielded } from '../shared/messages.ts';
import { installTokenHandlers, RenewalRun } from './renewal-run.ts';

const { recallGrant } = proxyActivities<ReturnType<typeof recallActivities>>({
  startToCloseTimeout: '1m',
  retry: UNTIL_TEMPORAL_ANSWERS,
});

export async function tokenRenewal(owner: TokenOwner, carried?: TokenRecord): Promise<void> {
  const run = new RenewalRun(owner, carried);
  installTokenHandlers(run);
  const stop = () => {
    run.stopped = true;
  };
  await runShielded(stop, async () => {
    run.plan = await orBadInput(checks.prepareToken(owner));
    await recall(run);
    run.recalled = true;
    while (!run.stopped) {
      if (await untilDue(run)) await renewOnce(run);
      await run.continueAsNewWhenLong();
    }
    await run.publisher.end();
    await condition(allHandlersFinished);
  });
}

/**
 * Looks up the newest grant of other runs. The previous run may have been terminated, or a Workflow Reset may have made
 * this run from an old history, so another run can hold a newer refresh token. A new application token costs one call,
 * so it needs no lookup.
 */
async function recall(run: RenewalRun): Promise<void> {
  const { owner, record } = run;
  if (owner.openId === undefined) return;
  const grant = await recallGrant(owner);
  if (!grant || grant.fingerprint === record.held?.fingerprint) return;
  if (record.held && record.held.obtainedAtMs >= grant.obtainedAtMs) return;
  // A handover that the other run has already used must not return.
  record.handedOverAtMs = grant.obtainedAtMs;
  run.accept(grant);
}

/** Waits until a renewal is due or requested. False: the record has changed, or the run ends. */
async function untilDue(run: RenewalRun): Promise<boolean> {
  const { record } = run;
  if (run.owner.openId !== undefined && !record.held?.refresh) requireAuthorization(run);
  run.show();
  const { generation } = record;
  const hasChanged = () => record.generation !== generation || run.stopped || run.isFull;
  if (record.needsAuthorization) await condition(() => hasChanged() || run.requested);
  else if (record.nextTryAtMs !== undefined) await untilNextTry(run, record.nextTryAtMs, hasChanged);
  else if (record.held) await untilRenewal(run, record.held, hasChanged);
  return !hasChanged();
}

async function untilNextTry(run: RenewalRun, atMs: number, hasChanged: () => boolean): Promise<void> {
  const waitMs = atMs - Date.now();
  const summary = 'requests the token again';
  if (waitMs > 0) await condition(() => hasChanged() || run.requested, waitMs, { summary });
}

async function untilRenewal(run: RenewalRun, held: HeldGrant, hasChanged: () => boolean): Promise<void> {
  const waitMs = held.renewsAtMs - Date.now();
  if (waitMs > 0)
    await condition(() => hasChanged() || run.requested, waitMs, { summary: 'renews the token' });
  const pauseMs = (pausedUntilMs(run.record) ?? 0) - Date.now();
  if (run.requested && pauseMs > 0)
    await condition(hasChanged, pauseMs, { summary: 'pauses between renewals' });
}

function requireAuthorization(run: RenewalRun): void {
  if (run.record.needsAuthorization) return;
  run.record.needsAuthorization = true;
  run.flag('NO_REFRESH_TOKEN', 'there is no refresh token: the user must authorize');
}

type Outcome = { grant: Grant } | { error: unknown };

/** Pause after the provider refused an application token, which only a change of settings can fix. */
const REFUSED_PAUSE_MS = 60_000;

/** Returns once the token is renewed or refused, a new authorization replaces it, or the run has to continue as new. */
async function renewOnce(run: RenewalRun): Promise<void> {
  const { generation } = run.record;
  const isObsolete = () => run.record.generation !== generation || run.stopped;
  const scope = new CancellationScope();
  const request = observed(scope.run(() => requestGrant(run)));
  await waitAndFlag(run, () => request.outcome !== undefined || isObsolete() || run.isFull);
  // An attempt that has begun may finish: its answer may hold the next refresh token.
  if (!request.outcome) scope.cancel();
  const outcome = await request.ended;
  if (isObsolete()) return;
  if ('grant' in outcome) run.accept(outcome.grant);
  else handleFailure(run, outcome.error);
}

async function requestGrant(run: RenewalRun): Promise<Grant> {
  const { owner, record, calls } = run;
  if (owner.openId === undefined) {
    const lifetimeMs = record.held?.lifetimeMs ?? 0;
    const proxy = tokenCalls(owner, calls, 'application', lifetimeMs, 'fetches the application token');
    return proxy.fetchApplicationToken(owner);
  }
  const isUrgent = run.isWaitedFor || (record.held !== undefined && Date.now() >= urgentAtMs(record.held));
  return (isUrgent ? undefined : await refreshUntilUrgent(run)) ?? refresh(run, 'urgent');
}

/** Undefined: the refresh became urgent before it had an outcome. */
async function refreshUntilUrgent(run: RenewalRun): Promise<Grant | undefined> {
  const scope = new CancellationScope();
  const request = observed(scope.run(() => refresh(run, 'due')));
  const isOver = () => request.outcome !== undefined || run.isWaitedFor;
  // The caller's cancellation reaches the activity itself, whose end is then the outcome.
  await CancellationScope.nonCancellable(() => condition(isOver));
  const isReplaced = request.outcome === undefined;
  if (isReplaced) scope.cancel();
  const outcome = await request.ended;
  if ('grant' in outcome) return outcome.grant;
  if (!isReplaced || !wasCanceled(outcome.error)) throw outcome.error;
  run.record.triedBefore = true;
  return undefined;
}

function refresh({ owner, record, calls }: RenewalRun, lane: 'urgent' | 'due') {
  const { lifetimeMs = 0, refresh: sealed = '' } = record.held ?? {};
  const summary = `refreshes the user token${lane === 'urgent' ? ' (urgent)' : ''}`;
  const proxy = tokenCalls(owner, calls, lane, lifetimeMs, summary);
  const triedBefore = record.triedBefore ?? false;
  return proxy.refreshUserToken(owner, { refresh: sealed, lane, triedBefore });
}

/** `outcome` is set as soon as the request has ended. */
function observed(request: Promise<Grant>): { outcome?: Outcome; ended: Promise<Outcome> } {
  const settled = request.then<Outcome, Outcome>(
    (grant) => ({ grant }),
    (error: unknown) => ({ error }),
  );
  const observation: ReturnType<typeof observed> = {
    ended: settled.then((outcome) => {
      observation.outcome = outcome;
      return outcome;
    }),
  };
  return observation;
}

/** The activity never began, or Temporal does not retry the attempt that was running. */
function wasCanceled(error: unknown): boolean {
  return (
    isCancellation(error) || (error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED')
  );
}

interface Deadline {
  atMs: number;
  summary: string;
  act: () => void;
}

/** Waits for `isOver`. Meanwhile flags a renewal that takes too long and makes it urgent. */
async function waitAndFlag(run: RenewalRun, isOver: () => boolean): Promise<void> {
  for (const { atMs, summary, act } of deadlines(run)) {
    const waitMs = atMs - Date.now();
    if (isOver() || (waitMs > 0 && (await condition(isOver, waitMs, { summary })))) return;
    act();
    run.show();
  }
  await condition(isOver);
}

function deadlines(run: RenewalRun): Deadline[] {
  const { held } = run.record;
  const flag = (atMs: number, code: TokenAttentionCode, message: string): Deadline => ({
    atMs,
    summary: `flags ${code}`,
    act: () => run.flag(code, message),
  });
  if (!held) return [flag(Date.now() + 60_000, 'NO_TOKEN', 'there is no token yet')];
  const refreshEnds = refreshEndsSoonAtMs(held);
  const urgent: Deadline = {
    atMs: urgentAtMs(held),
    summary: 'makes the renewal urgent',
    act: () => {
      run.waitedFor = true;
    },
  };
  const all = [
    flag(lateAtMs(held), 'RENEWAL_LATE', 'half of the time between renewal and expiry has passed'),
    flag(held.expiresAtMs, 'TOKEN_EXPIRED', 'the token has expired; calls wait for a new one'),
    ...(run.owner.openId === undefined ? [] : [urgent]),
    ...(refreshEnds === undefined
      ? []
      : [flag(refreshEnds, 'REFRESH_TOKEN_EXPIRES', 'the refresh token expires soon')]),
  ];
  return all.sort((a, b) => a.atMs - b.atMs);
}

/** After a refusal, a retry cannot help: only a person can. */
function handleFailure(run: RenewalRun, error: unknown): void {
  if (wasCanceled(error)) {
    run.record.triedBefore = true;
    return;
  }
  const why = causeOf(error);
  run.requested = false;
  run.waitedFor = false;
  run.refusals += 1;
  if (run.owner.openId === undefined) {
    run.record.nextTryAtMs = Date.now() + REFUSED_PAUSE_MS;
    run.flag('REFUSED', `the provider issues no application token (${why})`);
    return;
  }
  run.record.needsAuthorization = true;
  run.flag('REFRESH_REFUSED', `the refresh token was refused (${why}): the user must authorize again`);
}
