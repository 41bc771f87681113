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
  lateAtMs,
  pausedUntilMs,
  refreshEndsSoonAtMs,
  type TokenRecord,
  urgentAtMs,
} from '../../domain/tokens.ts';
import { causeOf, checks, orBadInput, Running, tokenCalls, UNTIL_TEMPORAL_ANSWERS } from '../shared/calls.ts';
import { runShielded } from '../shared/messages.ts';
import { carriedOver } from '../shared/run-facts.ts';
import { installTokenHandlers, RenewalRun } from './renewal-run.ts';

const { recallGrant } = proxyActivities<ReturnType<typeof recallActivities>>({
  startToCloseTimeout: '1m',
  retry: UNTIL_TEMPORAL_ANSWERS,
});

export async function tokenRenewal(owner: TokenOwner, carried?: TokenRecord): Promise<void> {
  const run = new RenewalRun(owner, carriedOver(carried));
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
  if (run.owner.openId !== undefined && !record.held?.refresh && !record.needsAuthorization) {
    record.needsAuthorization = true;
    run.flag('NO_REFRESH_TOKEN', 'there is no refresh token: the user must authorize');
  }
  run.show();
  const { generation } = record;
  const hasChanged = () => record.generation !== generation || run.stopped || run.isFull;
  const isOver = () => hasChanged() || run.requested;
  if (record.needsAuthorization) await condition(isOver);
  else if (record.nextTryAtMs !== undefined)
    await until(record.nextTryAtMs, isOver, 'requests the token again');
  else if (record.held) {
    await until(record.held.renewsAtMs, isOver, 'renews the token');
    if (run.requested) await until(pausedUntilMs(record) ?? 0, hasChanged, 'pauses between renewals');
  }
  return !hasChanged();
}

async function until(atMs: number, isOver: () => boolean, summary: string): Promise<void> {
  const waitMs = atMs - Date.now();
  if (waitMs > 0) await condition(isOver, waitMs, { summary });
}

/** Pause after the provider refused an application token, which only a change of settings can fix. */
const REFUSED_PAUSE_MS = 60_000;

/** Returns once the token is renewed or refused, a new authorization replaces it, or the run has to continue as new. */
async function renewOnce(run: RenewalRun): Promise<void> {
  const { generation } = run.record;
  const isObsolete = () => run.record.generation !== generation || run.stopped;
  const request = new Running(() => requestGrant(run));
  await waitAndFlag(run, () => request.outcome !== undefined || isObsolete() || run.isFull);
  // An attempt that has begun may finish: its response may hold the next refresh token.
  const outcome = await request.stop();
  if (isObsolete()) return;
  if ('value' in outcome) run.accept(outcome.value);
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
  const request = new Running(() => refresh(run, 'due'));
  const isOver = () => request.outcome !== undefined || run.isWaitedFor;
  // The caller's cancellation reaches the activity itself, whose end is then the outcome.
  await CancellationScope.nonCancellable(() => condition(isOver));
  const isReplaced = request.outcome === undefined;
  const outcome = await request.stop();
  if ('value' in outcome) return outcome.value;
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

/** The activity never began, or Temporal does not retry the attempt that was running. */
function wasCanceled(error: unknown): boolean {
  return (
    isCancellation(error) || (error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED')
  );
}

/** Waits for `isOver`. Meanwhile flags a renewal that takes too long and makes it urgent. */
async function waitAndFlag(run: RenewalRun, isOver: () => boolean): Promise<void> {
  for (const { atMs, code, message } of deadlines(run)) {
    const waitMs = atMs - Date.now();
    const summary = code ? `flags ${code}` : message;
    if (isOver() || (waitMs > 0 && (await condition(isOver, waitMs, { summary })))) return;
    if (code) run.flag(code, message);
    else run.waitedFor = true;
    run.show();
  }
  await condition(isOver);
}

/** Without a code, the renewal becomes urgent then. */
type Deadline = { atMs: number; code?: TokenAttentionCode; message: string };

function deadlines({ owner, record: { held } }: RenewalRun): Deadline[] {
  if (!held) return [{ atMs: Date.now() + 60_000, code: 'NO_TOKEN', message: 'there is no token yet' }];
  const all: Deadline[] = [
    {
      atMs: lateAtMs(held),
      code: 'RENEWAL_LATE',
      message: 'half of the time between renewal and expiry has passed',
    },
    {
      atMs: held.expiresAtMs,
      code: 'TOKEN_EXPIRED',
      message: 'the token has expired; calls wait for a new one',
    },
  ];
  if (owner.openId !== undefined) all.push({ atMs: urgentAtMs(held), message: 'makes the renewal urgent' });
  const atMs = refreshEndsSoonAtMs(held);
  if (atMs !== undefined)
    all.push({ atMs, code: 'REFRESH_TOKEN_EXPIRES', message: 'the refresh token expires soon' });
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
