/** One renewal: sent until the provider gives a token or says no. */
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
} from '@temporalio/workflow';
import type { TokenAttentionCode } from '../../domain/attention-codes.ts';
import { type Grant, lateAtMs, refreshEndsSoonAtMs, urgentAtMs } from '../../domain/token-record.ts';
import { renewing } from '../shared/calls.ts';
import type { RenewalRun } from './renewal-run.ts';

type Outcome = { grant: Grant } | { error: unknown };

/** After the provider refused an application token, which only a change of its settings can mend. */
const REFUSED_PAUSE_MS = 60_000;

/** Returns when the token was renewed, refused, overtaken by a new authorization, or has to go on in the next run. */
export async function renewOnce(run: RenewalRun): Promise<void> {
  const askedAtMs = Date.now();
  const { generation } = run.record;
  const overtaken = () => run.record.generation !== generation || run.stopped;
  const scope = new CancellationScope();
  let outcome: Outcome | undefined;
  const asking = settled(scope.run(() => ask(run))).then((how) => {
    outcome = how;
  });
  await watchingTheTime(run, () => outcome !== undefined || overtaken() || run.isFull);
  if (outcome === undefined) {
    scope.cancel();
    // One that is under way is not cut off: its answer may hold the next refresh token.
    await asking;
  }
  if (overtaken()) return;
  if (outcome && 'grant' in outcome) run.accept(outcome.grant, outcome.grant.obtainedAtMs ?? askedAtMs);
  else refused(run, outcome?.error);
}

async function ask(run: RenewalRun): Promise<Grant> {
  const { owner, record, calls } = run;
  if (owner.openId === undefined) {
    const livesMs = record.held?.livesMs ?? 0;
    const calling = renewing(owner, calls, 'application', livesMs, 'fetches the application token');
    return calling.fetchApplicationToken(owner);
  }
  const urgent = run.isWaitedFor || (record.held !== undefined && Date.now() >= urgentAtMs(record.held));
  return (urgent ? undefined : await refreshUntilUrgent(run)) ?? refresh(run, 'urgent');
}

/** Undefined: the refresh became urgent before anything came of it. */
async function refreshUntilUrgent(run: RenewalRun): Promise<Grant | undefined> {
  const scope = new CancellationScope();
  let outcome: Outcome | undefined;
  const refreshing = settled(scope.run(() => refresh(run, 'due'))).then((how) => {
    outcome = how;
    return how;
  });
  // A cancellation from outside reaches the activity, and is over when that is.
  await CancellationScope.nonCancellable(() => condition(() => outcome !== undefined || run.isWaitedFor));
  const gaveUp = outcome === undefined;
  if (gaveUp) scope.cancel();
  const how = await refreshing;
  if ('grant' in how) return how.grant;
  if (!gaveUp || !wasCancelled(how.error)) throw how.error;
  run.record.triedBefore = true;
  return undefined;
}

function refresh({ owner, record, calls }: RenewalRun, line: 'urgent' | 'due') {
  const { livesMs = 0, refresh: sealed = '' } = record.held ?? {};
  const summary = `refreshes the user token${line === 'urgent' ? ', urgently' : ''}`;
  const calling = renewing(owner, calls, line, livesMs, summary);
  const triedBefore = record.triedBefore ?? false;
  return calling.refreshUserToken(owner, { refresh: sealed, line, triedBefore });
}

function settled(promise: Promise<Grant>): Promise<Outcome> {
  return promise.then(
    (grant) => ({ grant }),
    (error: unknown) => ({ error }),
  );
}

/** Never begun, or not tried again after the attempt that was under way. */
function wasCancelled(error: unknown): boolean {
  return (
    isCancellation(error) || (error instanceof ActivityFailure && error.retryState === 'CANCEL_REQUESTED')
  );
}

interface Moment {
  atMs: number;
  what: string;
  act: () => void;
}

/** Waits for `over`. Says so in the open when the wait begins to matter, and makes the renewal urgent. */
async function watchingTheTime(run: RenewalRun, over: () => boolean): Promise<void> {
  for (const { atMs, what, act } of moments(run)) {
    const wait = atMs - Date.now();
    if (over() || (wait > 0 && (await condition(over, wait, { summary: what })))) return;
    act();
    run.show();
  }
  await condition(over);
}

function moments(run: RenewalRun): Moment[] {
  const { held } = run.record;
  const flag = (atMs: number, code: TokenAttentionCode, message: string): Moment => ({
    atMs,
    what: `flags ${code}`,
    act: () => run.flag(code, message),
  });
  if (!held) return [flag(Date.now() + 60_000, 'NO_TOKEN', 'there is no token yet')];
  const refreshEnds = refreshEndsSoonAtMs(held);
  const urgent: Moment = {
    atMs: urgentAtMs(held),
    what: 'makes the renewal urgent',
    act: () => {
      run.waitedFor = true;
    },
  };
  const all = [
    flag(lateAtMs(held), 'RENEWAL_LATE', 'half of the time left for the renewal is gone'),
    flag(held.expiresAtMs, 'TOKEN_EXPIRED', 'the token has expired; calls wait for a new one'),
    ...(run.owner.openId === undefined ? [] : [urgent]),
    ...(refreshEnds === undefined
      ? []
      : [flag(refreshEnds, 'REFRESH_ENDS', 'the refresh token is nearing its end')]),
  ];
  return all.sort((a, b) => a.atMs - b.atMs);
}

/** The provider said no, and asking again cannot change that: a person has to. */
function refused(run: RenewalRun, error: unknown): void {
  if (wasCancelled(error)) {
    run.record.triedBefore = true;
    return;
  }
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const why = cause instanceof ApplicationFailure ? `${cause.type}: ${cause.message}` : 'no answer';
  run.asked = false;
  run.waitedFor = false;
  run.refusals += 1;
  if (run.owner.openId === undefined) {
    run.record.nextTryAtMs = Date.now() + REFUSED_PAUSE_MS;
    run.flag('REFUSED', `the provider gives no application token (${why})`);
    return;
  }
  run.record.needsAuthorization = true;
  run.flag('REFRESH_REFUSED', `the refresh token was refused (${why}): the user must authorize again`);
}
