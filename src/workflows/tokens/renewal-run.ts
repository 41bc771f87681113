/** The state of one token's renewal, shared by its steps. */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  log,
  metricMeter,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { TokenPlan } from '../../activities/shared/preparation.ts';
import type { TokenAttentionCode } from '../../contract/attention-codes.ts';
import type { Grant, TokenOwner, TokenState } from '../../contract/tokens.ts';
import { publishToken } from '../../domain/events.ts';
import { count, logEvent } from '../../domain/telemetry.ts';
import { newTokenRecord, type TokenRecord, toHeldGrant, tokenState } from '../../domain/tokens.ts';
import { FlaggedRun, flagLines, showAttention } from '../shared/attention.ts';
import { Publisher } from '../shared/publish-events.ts';
import { isHistoryLong } from '../shared/run-facts.ts';

/** An update takes about five history events. Workers send them at any time, however far off the next renewal is. */
const MAX_UPDATES = 50;

export class RenewalRun extends FlaggedRun<TokenAttentionCode> {
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
  /** `grant` updates that wait for a token now. */
  waiting = 0;
  plan: TokenPlan | undefined;

  constructor(owner: TokenOwner, carried: TokenRecord | undefined) {
    super();
    this.owner = owner;
    this.record = carried ?? newTokenRecord();
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

  override flag(code: TokenAttentionCode, message: string): void {
    if (!this.record.attention.some((known) => known.code === code)) {
      logEvent(log, 'token.attention', { ...this.tags(), code });
      count(metricMeter, 'payouts_token_attention', { ...this.tags(), code });
    }
    super.flag(code, message);
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

  /** A person or a call waits for the renewal, so it goes before creates. */
  get isWaitedFor(): boolean {
    return this.requested || this.waitedFor;
  }

  /**
   * Time to continue as new, even during a renewal: callers who wait for the outcome turn to the next run. It counts updates
   * and does not read the length of the history: waits end on it, and the length differs in a replay.
   */
  get isFull(): boolean {
    return this.updates >= MAX_UPDATES;
  }

  async continueAsNewWhenLong(): Promise<void> {
    if (!this.isFull && !isHistoryLong()) return;
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
