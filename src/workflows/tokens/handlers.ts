/** The messages that a token renewal takes. */
import { condition, log, setHandler } from '@temporalio/workflow';
import type { CurrentGrant, Grant, TokenState } from '../../contract/tokens.ts';
import {
  authorizedSignal,
  type GrantRequest,
  grantUpdate,
  renewUpdate,
  tokenStateQuery,
} from '../../contract/workflows.ts';
import { pausedUntilMs } from '../../domain/tokens.ts';
import { isRecord, onSignal, onUpdate } from '../shared/messages.ts';
import type { RenewalRun } from './renewal-run.ts';

/** After this many rejected tokens in a row, the renewal is flagged. */
const REJECTED_BEFORE_FLAG = 3;
/** Shorter than workers wait for an answer, so that updates whose caller gave up do not pile up. */
const GRANT_TIMEOUT = '8s';
/** Temporal accepts ten updates at once and fails workflow tasks beyond that. Further callers retry. */
const MAX_WAITING = 5;
const MUST_AUTHORIZE = 'the user must authorize again';

export function installTokenHandlers(run: RenewalRun): void {
  setHandler(tokenStateQuery, () => run.state());
  onSignal(authorizedSignal, (grant) => acceptAuthorization(run, grant));
  onUpdate(run, grantUpdate, grantFor, grantProblem);
  onUpdate(run, renewUpdate, renew, renewProblem);
}

/** Our own activity sends the signal with the grant that it obtained. Anything else is ignored. */
function acceptAuthorization(run: RenewalRun, grant: unknown): void {
  if (!isGrant(grant)) {
    log.warn('a grant could not be decoded; it is ignored');
    return;
  }
  const { handedOverAtMs } = run.record;
  if (handedOverAtMs !== undefined && grant.obtainedAtMs <= handedOverAtMs) {
    log.info('a repeated or older handover of tokens is ignored');
    return;
  }
  run.record.handedOverAtMs = grant.obtainedAtMs;
  run.record.rejectedInARow = 0;
  run.accept(grant);
}

function isGrant(value: unknown): value is Grant {
  if (!isRecord(value)) return false;
  const { access, fingerprint, lifetimeMs, obtainedAtMs } = value;
  const isIssued = typeof access === 'string' && typeof fingerprint === 'string';
  return isIssued && Number.isFinite(lifetimeMs) && Number.isFinite(obtainedAtMs);
}

async function grantFor(run: RenewalRun, request: GrantRequest | undefined): Promise<CurrentGrant | null> {
  run.updates += 1;
  if (!mustWait(run, request?.rejected)) return current(run);
  run.waitedFor = true;
  if (run.waiting >= MAX_WAITING) return null;
  const { record } = run;
  const { generation } = record;
  const isOver = () =>
    record.generation > generation || record.needsAuthorization || run.stopped || run.isFull;
  run.waiting += 1;
  const inTime = await condition(isOver, GRANT_TIMEOUT, { summary: 'a call waits for the token' });
  run.waiting -= 1;
  return inTime ? current(run) : null;
}

/** Whether the current grant is of no use to the caller. Requests a renewal if its token was rejected. */
function mustWait(run: RenewalRun, rejected: string | undefined): boolean {
  const { record } = run;
  const { held } = record;
  if (!held || held.expiresAtMs <= Date.now()) return true;
  // A call that was rejected with an older token needs only the current one.
  if (held.fingerprint !== rejected) return false;
  if (!run.requested) countRejection(run);
  run.requested = true;
  // After several rejections in a row, the tokens are not the cause: calls keep using this one, renewals slow down.
  return (pausedUntilMs(record) ?? 0) <= Date.now();
}

function current({ record: { held } }: RenewalRun): CurrentGrant | null {
  if (!held) return null;
  const { access, lifetimeMs, expiresAtMs, renewsAtMs } = held;
  return { access, lifetimeMs, expiresAtMs, renewsAtMs, grantedAtMs: Date.now() };
}

/** Counts tokens that are rejected before their renewal is due. The rejection of an older token is normal. */
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
  // A person may have fixed the reason for the provider's refusal, so the renewal is tried once more.
  record.needsAuthorization = false;
  run.requested = true;
  await condition(
    () =>
      record.generation > generation || record.needsAuthorization || run.stopped || run.refusals > refusals,
  );
  return run.state();
}

function grantProblem({ record }: RenewalRun, request: GrantRequest | undefined): string | undefined {
  const { held, needsAuthorization } = record;
  const isUsable =
    held !== undefined && held.expiresAtMs > Date.now() && held.fingerprint !== request?.rejected;
  return needsAuthorization && !isUsable ? MUST_AUTHORIZE : undefined;
}

function renewProblem({ record }: RenewalRun): string | undefined {
  return record.needsAuthorization && !record.held?.refresh ? MUST_AUTHORIZE : undefined;
}
