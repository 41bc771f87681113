/**
 * One token's life: the application's own, or one user's. It is renewed long before it expires, by nobody else
 * and one renewal at a time. A refused refresh token is no end: the renewal waits, flagged, for the user to
 * authorize again. Runs until it is cancelled.
 */
import { allHandlersFinished, CancellationScope, condition } from '@temporalio/workflow';
import {
  type HeldGrant,
  pausedUntilMs,
  type TokenOwner,
  type TokenRecord,
} from '../../domain/token-record.ts';
import { local, recalling } from '../shared/calls.ts';
import { installTokenHandlers } from './handlers.ts';
import { renewOnce } from './renew.ts';
import { RenewalRun } from './renewal-run.ts';

export async function tokenRenewal(owner: TokenOwner, carried?: TokenRecord): Promise<void> {
  const run = new RenewalRun(owner, carried);
  installTokenHandlers(run);
  CancellationScope.current().cancelRequested.catch(() => {
    run.stopped = true;
  });
  await CancellationScope.nonCancellable(async () => {
    await run.prepare(() => local.prepareToken(owner));
    await recall(run);
    run.recalled = true;
    while (!run.stopped) {
      if (await isDue(run)) await renewOnce(run);
      await run.continueAsNewWhenLong();
    }
    await condition(allHandlersFinished);
  });
}

/**
 * The run before this one may have been terminated, or a Workflow Reset may have made this run from an old history:
 * other runs can hold a newer refresh token. The application token needs none of it; a new one costs one call.
 */
async function recall(run: RenewalRun): Promise<void> {
  const { owner, record } = run;
  if (owner.openId === undefined) return;
  const known = await recalling.recallGrant(owner);
  const obtainedAtMs = known?.obtainedAtMs;
  if (!known || obtainedAtMs === undefined || known.fingerprint === record.held?.fingerprint) return;
  if (record.held === undefined || record.held.obtainedAtMs < obtainedAtMs) run.accept(known, obtainedAtMs);
}

/** Waits until the token should be renewed, by its age or because somebody asked; false when things changed. */
async function isDue(run: RenewalRun): Promise<boolean> {
  const { record } = run;
  if (run.owner.openId !== undefined && !record.held?.refresh) askForAuthorization(run);
  run.show();
  const { generation } = record;
  const changed = () => record.generation !== generation || run.stopped || run.isFull;
  if (record.needsAuthorization) await condition(() => changed() || run.asked);
  else if (record.nextTryAtMs !== undefined) await nextTry(run, record.nextTryAtMs, changed);
  else if (record.held) await ageOf(run, record.held, changed);
  return !changed();
}

async function nextTry(run: RenewalRun, atMs: number, changed: () => boolean): Promise<void> {
  const wait = atMs - Date.now();
  if (wait > 0) await condition(() => changed() || run.asked, wait, { summary: 'asks again' });
}

async function ageOf(run: RenewalRun, held: HeldGrant, changed: () => boolean): Promise<void> {
  const wait = held.renewsAtMs - Date.now();
  if (wait > 0) await condition(() => changed() || run.asked, wait, { summary: 'renews the token' });
  const early = (pausedUntilMs(run.record) ?? 0) - Date.now();
  if (run.asked && early > 0) await condition(changed, early, { summary: 'pauses between renewals' });
}

function askForAuthorization(run: RenewalRun): void {
  if (run.record.needsAuthorization) return;
  run.record.needsAuthorization = true;
  run.flag('NO_REFRESH_TOKEN', 'there is no refresh token: the user must authorize');
}
