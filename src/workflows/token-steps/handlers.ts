/** What a renewal can be told and asked. Handlers never throw, but for an update that is refused with its reason. */
import { ApplicationFailure, condition, log, setHandler } from '@temporalio/workflow';
import { NOT_ACCEPTED_NOW } from '../../domain/failure-types.ts';
import { type CurrentGrant, type Grant, pausedUntilMs, type TokenState } from '../../domain/token-record.ts';
import { isRecord, onSignal } from '../raw-signal.ts';
import {
  authorizedSignal,
  currentGrantQuery,
  type RenewRequest,
  renewUpdate,
  tokenStateQuery,
} from '../token-messages.ts';
import type { TokenLife } from './token-life.ts';

/** Fresh tokens in a row that may be rejected before somebody should look. */
const REJECTED_BEFORE_FLAG = 3;

export function installTokenHandlers(life: TokenLife): void {
  setHandler(tokenStateQuery, () => life.state());
  setHandler(currentGrantQuery, () => current(life));
  onSignal(authorizedSignal, (grant) => authorized(life, grant));
  setHandler(renewUpdate, (request) => renew(life, request), {
    validator: (request) => refuseHopeless(life, request),
  });
}

function current({ record: { held } }: TokenLife): CurrentGrant | null {
  if (!held) return null;
  const { access, fingerprint, expiresAtMs, renewsAtMs } = held;
  return { access, fingerprint, expiresAtMs, renewsAtMs };
}

/** Only our own activity sends it, with what it just got; anything else is left aside. */
function authorized(life: TokenLife, grant: unknown): void {
  if (!isGrant(grant)) {
    log.warn('a grant that cannot be read is left aside');
    return;
  }
  life.record.rejectedInARow = 0;
  life.accept(grant, Date.now());
}

function isGrant(value: unknown): value is Grant {
  if (!isRecord(value)) return false;
  const { access, fingerprint, livesMs } = value;
  return typeof access === 'string' && typeof fingerprint === 'string' && typeof livesMs === 'number';
}

/** From the Temporal UI it may come without an argument. */
async function renew(life: TokenLife, request: RenewRequest | undefined): Promise<TokenState> {
  const rejected = request?.rejected;
  const { record } = life;
  const { held, generation } = record;
  // Whoever was turned away with an older token only has to fetch the current one.
  if (held && rejected !== undefined && held.fingerprint !== rejected) return life.state();
  if (held && rejected !== undefined && !life.asked) countRejection(life);
  // It is not the token's fault, then, and nobody waits for the next one: calls go on with this one.
  if (rejected !== undefined && (pausedUntilMs(record) ?? 0) > Date.now()) {
    life.asked = true;
    return life.state();
  }
  // A person may have mended what made the service refuse, so their wish is one more try.
  record.needsAuthorization = false;
  life.asked = true;
  const { refusals } = life;
  // A person wants to hear of a refusal; a call that was turned away has no use for anything but a new token.
  const refused = () => rejected === undefined && life.refusals > refusals;
  await condition(
    () => record.generation > generation || record.needsAuthorization || life.stopped || refused(),
  );
  return life.state();
}

/** A token that was rejected early was good for nobody; one that was in use for a while is an ordinary end. */
function countRejection(life: TokenLife): void {
  const { record } = life;
  const early = record.held !== undefined && Date.now() < record.held.renewsAtMs;
  record.rejectedInARow = early ? record.rejectedInARow + 1 : 0;
  if (record.rejectedInARow >= REJECTED_BEFORE_FLAG)
    life.flag('TOKEN_REJECTED', `the service rejected ${record.rejectedInARow} fresh tokens in a row`);
}

function refuseHopeless({ record }: TokenLife, request: RenewRequest | undefined): void {
  const rejected = request?.rejected;
  if (!record.needsAuthorization || (rejected === undefined && record.held?.refresh)) return;
  throw ApplicationFailure.nonRetryable('the user must authorize again', NOT_ACCEPTED_NOW);
}
