/** What a renewal can be told and asked. Handlers never throw, but for an update that is refused with its reason. */
import { ApplicationFailure, condition, log, setHandler } from '@temporalio/workflow';
import { NOT_ACCEPTED_NOW } from '../../contract/failure-types.ts';
import {
  authorizedSignal,
  type GrantRequest,
  grantUpdate,
  renewUpdate,
  tokenStateQuery,
} from '../../contract/token-messages.ts';
import { type CurrentGrant, type Grant, pausedUntilMs, type TokenState } from '../../domain/token-record.ts';
import { isRecord, onSignal } from '../shared/raw-signal.ts';
import type { RenewalRun } from './renewal-run.ts';

/** Fresh tokens in a row that may be rejected before somebody should look. */
const REJECTED_BEFORE_FLAG = 3;
/** Less than workers wait for an answer, so that those who gave up do not pile up here. */
const GRANT_WITHIN = '8s';
/** Temporal takes ten updates at once, and loses workflow tasks to those beyond. Whoever comes later asks again. */
const MOST_WAITING = 5;

export function installTokenHandlers(run: RenewalRun): void {
  setHandler(tokenStateQuery, () => run.state());
  onSignal(authorizedSignal, (grant) => authorized(run, grant));
  setHandler(grantUpdate, (request) => grantFor(run, request), {
    validator: (request) => refuseWithoutGrant(run, request),
  });
  setHandler(renewUpdate, () => renew(run), { validator: () => refuseWithoutRefresh(run) });
}

/** Only our own activity sends it, with what it just got; anything else is left aside. */
function authorized(run: RenewalRun, grant: unknown): void {
  if (!isGrant(grant)) {
    log.warn('a grant that cannot be read is left aside');
    return;
  }
  // A repeat must not replace what was obtained since.
  if (grant.fingerprint === run.record.handedOver) return;
  run.record.handedOver = grant.fingerprint;
  run.record.rejectedInARow = 0;
  run.accept(grant, Date.now());
}

function isGrant(value: unknown): value is Grant {
  if (!isRecord(value)) return false;
  const { access, fingerprint, livesMs } = value;
  return typeof access === 'string' && typeof fingerprint === 'string' && typeof livesMs === 'number';
}

async function grantFor(run: RenewalRun, request: GrantRequest | undefined): Promise<CurrentGrant | null> {
  run.updates += 1;
  if (!mustWait(run, request?.rejected)) return current(run);
  run.waitedFor = true;
  if (run.waiting >= MOST_WAITING) return null;
  const { record } = run;
  const { generation } = record;
  const over = () => record.generation > generation || record.needsAuthorization || run.stopped || run.isFull;
  run.waiting += 1;
  const came = await condition(over, GRANT_WITHIN, { summary: 'a call waits for the token' });
  run.waiting -= 1;
  return came ? current(run) : null;
}

/** Whether there is no use in the grant at hand. Asks for the renewal of one that was rejected. */
function mustWait(run: RenewalRun, rejected: string | undefined): boolean {
  const { record } = run;
  const { held } = record;
  if (!held || held.expiresAtMs <= Date.now()) return true;
  // Whoever was turned away with an older token only needs the current one.
  if (held.fingerprint !== rejected) return false;
  if (!run.asked) countRejection(run);
  run.asked = true;
  // After several in a row it is not the token's fault: calls go on with this one while the renewals slow down.
  return (pausedUntilMs(record) ?? 0) <= Date.now();
}

function current({ record: { held } }: RenewalRun): CurrentGrant | null {
  if (!held) return null;
  const { access, livesMs, expiresAtMs, renewsAtMs } = held;
  return { access, livesMs, expiresAtMs, renewsAtMs };
}

/** A token that was rejected early was good for nobody; one that was in use for a while is an ordinary end. */
function countRejection(run: RenewalRun): void {
  const { record } = run;
  const early = record.held !== undefined && Date.now() < record.held.renewsAtMs;
  record.rejectedInARow = early ? record.rejectedInARow + 1 : 0;
  if (record.rejectedInARow >= REJECTED_BEFORE_FLAG)
    run.flag('TOKEN_REJECTED', `the provider rejected ${record.rejectedInARow} fresh tokens in a row`);
}

async function renew(run: RenewalRun): Promise<TokenState> {
  run.updates += 1;
  await condition(() => run.recalled || run.stopped);
  const { record, refusals } = run;
  const { generation } = record;
  // A person may have mended what made the provider refuse, so their wish is one more try.
  record.needsAuthorization = false;
  run.asked = true;
  await condition(
    () =>
      record.generation > generation || record.needsAuthorization || run.stopped || run.refusals > refusals,
  );
  return run.state();
}

function refuseWithoutGrant({ record }: RenewalRun, request: GrantRequest | undefined): void {
  const { held, needsAuthorization } = record;
  const usable =
    held !== undefined && held.expiresAtMs > Date.now() && held.fingerprint !== request?.rejected;
  if (needsAuthorization && !usable) throw mustAuthorize();
}

function refuseWithoutRefresh({ record }: RenewalRun): void {
  if (record.needsAuthorization && !record.held?.refresh) throw mustAuthorize();
}

function mustAuthorize(): ApplicationFailure {
  return ApplicationFailure.nonRetryable('the user must authorize again', NOT_ACCEPTED_NOW);
}
