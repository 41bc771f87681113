/**
 * Keeps one token valid: the application's own, or one user's. Nothing else renews the token; renewals begin long before
 * it expires and run one at a time. After a refused refresh token, the workflow is flagged and waits for the user to
 * authorize again. Runs until it is canceled.
 */
import { allHandlersFinished, condition, proxyActivities } from '@temporalio/workflow';
import type { recallActivities } from '../../activities/tokens/token-activities.ts';
import type { TokenOwner } from '../../contract/tokens.ts';
import { type HeldGrant, pausedUntilMs, type TokenRecord } from '../../domain/tokens.ts';
import { checks, orBadInput, UNTIL_TEMPORAL_ANSWERS } from '../shared/calls.ts';
import { runShielded } from '../shared/messages.ts';
import { installTokenHandlers } from './handlers.ts';
import { renewOnce } from './renew.ts';
import { RenewalRun } from './renewal-run.ts';

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
