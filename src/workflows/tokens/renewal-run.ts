/** The state of one token's renewal, shared by its steps, and the messages that it takes. */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  log,
  metricMeter,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { TokenPlan } from '../../activities/shared/preparation.ts';
import type { TokenAttentionCode } from '../../contract/attention-codes.ts';
import type { CurrentGrant, Grant, TokenOwner, TokenState } from '../../contract/tokens.ts';
import {
  authorizedSignal,
  type GrantRequest,
  grantUpdate,
  renewUpdate,
  tokenStateQuery,
} from '../../contract/workflows.ts';
import { publishToken } from '../../domain/events.ts';
import { count, logEvent } from '../../domain/telemetry.ts';
import { pausedUntilMs, TokenRecord, toHeldGrant, tokenState } from '../../domain/tokens.ts';
import { flagged, flagLines, showAttention } from '../shared/attention.ts';
import { isRecord, onSignal, onUpdate } from '../shared/messages.ts';
import { Publisher } from '../shared/publish-events.ts';
import { RunHistory } from '../shared/run-facts.ts';

/** An update takes about five history events. Workers send them at any time, however far off the next renewal is. */
const MAX_UPDATES = 50;

export class RenewalRun {
  readonly owner: TokenOwner;
  readonly record: TokenRecord;
  readonly publisher: Publisher;
  /** A renewal was requested and is not done yet. */
  requested = false;
  /** A call waits for the renewal, or will soon. */
  waitedFor = false;
  stopped = false;
  /** The newest grant of earlier runs has been looked up. */
  recalled = false;
  /** The provider's refusals in this run. */
  refusals = 0;
  /** Updates handled in this run. */
  updates = 0;
  private readonly history = new RunHistory();
  /** `grant` updates that wait for a token now. */
  waiting = 0;
  plan: TokenPlan | undefined;

  constructor(owner: TokenOwner, carried: TokenRecord | undefined) {
    this.owner = owner;
    this.record = carried ?? new TokenRecord();
    this.publisher = new Publisher(this.record.log, () => this.plan && { ...this.plan, ...owner });
  }

  get calls(): TokenPlan {
    if (!this.plan) throw new Error('the owner has not been checked yet');
    return this.plan;
  }

  /** Takes a new grant, from a renewal or an authorization. The flags of the old one no longer apply. */
  accept(grant: Grant): void {
    this.record.held = toHeldGrant(this.owner, grant, Math.random());
    this.record.generation += 1;
    this.record.needsAuthorization = false;
    this.record.triedBefore = undefined;
    this.record.nextTryAtMs = undefined;
    // The old token was accepted until its renewal was due.
    if (!this.requested) this.record.rejectedInARow = 0;
    this.record.attention = this.record.attention.filter(
      ({ code }) => code === 'TOKEN_REJECTED' && this.record.rejectedInARow > 0,
    );
    this.requested = false;
    this.waitedFor = false;
    logEvent(log, 'token.renewed', this.tags());
    count(metricMeter, 'payouts_token_renewals', this.tags());
  }

  flag(code: TokenAttentionCode, message: string): void {
    if (!this.record.attention.some((known) => known.code === code)) {
      logEvent(log, 'token.attention', { ...this.tags(), code });
      count(metricMeter, 'payouts_token_attention', { ...this.tags(), code });
    }
    this.record.attention = flagged(this.record.attention, code, message);
  }

  state(): TokenState {
    return tokenState(this.owner, this.record, Date.now());
  }

  /** Shows the state in the Temporal UI, where nothing is encrypted: no secrets and no user ids. */
  show(): void {
    const state = this.state();
    const lines = [
      state.sentence,
      state.expiresAt && `Expires at ${state.expiresAt}; the renewal begins at ${state.renewsAt}`,
      state.refreshExpiresAt && `The refresh token expires at ${state.refreshExpiresAt}`,
      ...flagLines(state.reasons),
    ];
    setCurrentDetails(lines.filter((line) => line !== undefined).join('\n\n'));
    showAttention(state.reasons);
    this.publisher.publish((published, publish) => publishToken(published, state, publish));
  }

  /** A person or a call waits for the renewal, so it goes before create calls. */
  get isWaitedFor(): boolean {
    return this.requested || this.waitedFor;
  }

  /**
   * Time to continue as new, even during a renewal: callers who wait for the outcome turn to the next run.
   */
  get isFull(): boolean {
    return this.updates >= MAX_UPDATES;
  }

  async continueAsNewWhenLong(): Promise<void> {
    if (!this.isFull && !this.history.isLong) return;
    await this.publisher.settle();
    // In a full run, handlers end without waiting.
    if (this.isFull) await condition(allHandlersFinished);
    else if (!allHandlersFinished()) return;
    await continueAsNew<(owner: TokenOwner, carried: TokenRecord) => Promise<void>>(this.owner, this.record);
  }

  private tags(): { app: string; kind: 'application' | 'user' } {
    return { app: this.owner.app, kind: this.owner.openId === undefined ? 'application' : 'user' };
  }
}

/** After this many rejected tokens in a row, the renewal is flagged. */
const REJECTED_BEFORE_FLAG = 3;
/** Shorter than workers wait for a response, so that updates whose caller gave up do not pile up. */
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
