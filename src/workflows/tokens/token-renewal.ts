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
import { TokenLife } from './token-life.ts';

export async function tokenRenewal(owner: TokenOwner, carried?: TokenRecord): Promise<void> {
  const life = new TokenLife(owner, carried);
  installTokenHandlers(life);
  CancellationScope.current().cancelRequested.catch(() => {
    life.stopped = true;
  });
  await CancellationScope.nonCancellable(async () => {
    await life.prepare(() => local.prepareToken(owner));
    await recall(life);
    life.recalled = true;
    while (!life.stopped) {
      if (await isDue(life)) await renewOnce(life);
      await life.continueAsNewWhenLong();
    }
    await condition(allHandlersFinished);
  });
}

/**
 * The run before this one may have been terminated, or a Workflow Reset may have made this run from an old history:
 * other runs can hold a newer refresh token. The application token needs none of it; a new one costs one call.
 */
async function recall(life: TokenLife): Promise<void> {
  const { owner, record } = life;
  if (owner.openId === undefined) return;
  const known = await recalling.recallGrant(owner);
  const obtainedAtMs = known?.obtainedAtMs;
  if (!known || obtainedAtMs === undefined || known.fingerprint === record.held?.fingerprint) return;
  if (record.held === undefined || record.held.obtainedAtMs < obtainedAtMs) life.accept(known, obtainedAtMs);
}

/** Waits until the token should be renewed, by its age or because somebody asked; false when things changed. */
async function isDue(life: TokenLife): Promise<boolean> {
  const { record } = life;
  if (life.owner.openId !== undefined && !record.held?.refresh) askForAuthorization(life);
  life.show();
  const { generation } = record;
  const changed = () => record.generation !== generation || life.stopped || life.isFull;
  if (record.needsAuthorization) await condition(() => changed() || life.asked);
  else if (record.nextTryAtMs !== undefined) await nextTry(life, record.nextTryAtMs, changed);
  else if (record.held) await ageOf(life, record.held, changed);
  return !changed();
}

async function nextTry(life: TokenLife, atMs: number, changed: () => boolean): Promise<void> {
  const wait = atMs - Date.now();
  if (wait > 0) await condition(() => changed() || life.asked, wait, { summary: 'asks again' });
}

async function ageOf(life: TokenLife, held: HeldGrant, changed: () => boolean): Promise<void> {
  const wait = held.renewsAtMs - Date.now();
  if (wait > 0) await condition(() => changed() || life.asked, wait, { summary: 'renews the token' });
  const early = (pausedUntilMs(life.record) ?? 0) - Date.now();
  if (life.asked && early > 0) await condition(changed, early, { summary: 'pauses between renewals' });
}

function askForAuthorization(life: TokenLife): void {
  if (life.record.needsAuthorization) return;
  life.record.needsAuthorization = true;
  life.flag('NO_REFRESH_TOKEN', 'there is no refresh token: the user must authorize');
}
