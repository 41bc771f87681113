/** One renewal: sent until the service gives a token or says no. */
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
} from '@temporalio/workflow';
import { type Grant, type HeldGrant, lateAtMs, refreshEndsSoonAtMs } from '../../domain/token-record.ts';
import { renewing } from '../calls.ts';
import type { TokenLife } from './token-life.ts';

type Outcome = { grant: Grant } | { error: unknown };

/** Returns when the token was renewed, refused, or overtaken by a new authorization. */
export async function renewOnce(life: TokenLife): Promise<void> {
  const askedAtMs = Date.now();
  const { generation } = life.record;
  const overtaken = () => life.record.generation !== generation || life.stopped;
  const scope = new CancellationScope();
  let outcome: Outcome | undefined;
  const asking = scope
    .run(() => ask(life))
    .then(
      (grant) => {
        outcome = { grant };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
  await flaggingDelays(life, () => outcome !== undefined || overtaken());
  if (overtaken()) {
    scope.cancel();
    await asking;
    return;
  }
  if (outcome && 'grant' in outcome) life.accept(outcome.grant, askedAtMs);
  else refused(life, outcome?.error);
}

function ask(life: TokenLife): Promise<Grant> {
  const { owner, record, calls } = life;
  const livesMs = record.held?.livesMs ?? 0;
  if (owner.openId === undefined)
    return renewing(calls, livesMs, 'fetches the application token').fetchApplicationToken(owner);
  return renewing(calls, livesMs, 'refreshes the user token').refreshUserToken(
    owner,
    record.held?.refresh ?? '',
  );
}

/** Waits for `over`, and says so in the open when the wait begins to matter. */
async function flaggingDelays(life: TokenLife, over: () => boolean): Promise<void> {
  for (const { atMs, code, message } of delays(life.record.held)) {
    const wait = atMs - Date.now();
    if (over() || (wait > 0 && (await condition(over, wait, { summary: `flags ${code}` })))) return;
    life.flag(code, message);
    life.show();
  }
  await condition(over);
}

function delays(held: HeldGrant | undefined): { atMs: number; code: string; message: string }[] {
  if (!held) return [{ atMs: Date.now() + 60_000, code: 'NO_TOKEN', message: 'there is no token yet' }];
  const refreshEnds = refreshEndsSoonAtMs(held);
  const all = [
    { atMs: lateAtMs(held), code: 'RENEWAL_LATE', message: 'half of the time left for the renewal is gone' },
    {
      atMs: held.expiresAtMs,
      code: 'TOKEN_EXPIRED',
      message: 'the token has expired; calls wait for a new one',
    },
    ...(refreshEnds === undefined
      ? []
      : [{ atMs: refreshEnds, code: 'REFRESH_ENDS', message: 'the refresh token is nearing its end' }]),
  ];
  return all.sort((a, b) => a.atMs - b.atMs);
}

/** The service said no, and asking again cannot change that: a person has to. */
function refused(life: TokenLife, error: unknown): void {
  if (isCancellation(error)) return;
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  const why = cause instanceof ApplicationFailure ? `${cause.type}: ${cause.message}` : 'no answer';
  life.asked = false;
  life.refusals += 1;
  if (life.owner.openId === undefined) {
    life.flag('REFUSED', `the service gives no application token (${why})`);
    return;
  }
  life.record.needsAuthorization = true;
  life.flag('REFRESH_REFUSED', `the refresh token was refused (${why}): the user must authorize again`);
}
