/** One token as the steps of its renewal see it. */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  log,
  metricMeter,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { TokenPlan } from '../../activities/shared/types.ts';
import type { TokenAttentionCode } from '../../domain/attention-codes.ts';
import {
  type Grant,
  heldFrom,
  newTokenRecord,
  type TokenOwner,
  type TokenRecord,
  type TokenState,
  tokenState,
} from '../../domain/token-record.ts';
import { isHistoryLong } from '../shared/long-history.ts';

/** An update is about five history events, and workers fetch the token by updates however long a renewal is off. */
const MOST_UPDATES = 50;

export class RenewalRun {
  readonly owner: TokenOwner;
  readonly record: TokenRecord;
  /** Somebody asked for a renewal that has not been done yet. */
  asked = false;
  /** A call waits for the renewal, or will very soon. */
  waitedFor = false;
  stopped = false;
  /** What earlier runs knew is known here. */
  recalled = false;
  /** How often the provider has said no, in this run. */
  refusals = 0;
  /** Handled in this run. */
  updates = 0;
  /** Calls that wait for a token right now. */
  waiting = 0;
  private plan: TokenPlan | undefined;

  constructor(owner: TokenOwner, carried: TokenRecord | undefined) {
    this.owner = owner;
    this.record = carried ?? newTokenRecord();
  }

  async prepare(prepare: () => Promise<TokenPlan>): Promise<void> {
    this.plan = await prepare();
  }

  get calls(): TokenPlan {
    if (!this.plan) throw new Error('the owner has not been checked yet');
    return this.plan;
  }

  /** A new grant, by renewal or by a new authorization: everything that was wrong with the old one is over. */
  accept(grant: Grant, askedAtMs: number): void {
    this.record.held = heldFrom(this.owner, grant, askedAtMs, Math.random());
    this.record.generation += 1;
    this.record.needsAuthorization = false;
    this.record.triedBefore = undefined;
    this.record.nextTryAtMs = undefined;
    // One that was renewed in its own time was good for everybody.
    if (!this.asked) this.record.rejectedInARow = 0;
    this.record.attention = this.record.attention.filter(
      ({ code }) => code === 'TOKEN_REJECTED' && this.record.rejectedInARow > 0,
    );
    this.asked = false;
    this.waitedFor = false;
    metricMeter.createCounter('payouts_token_renewals', 'renewal', 'tokens obtained').add(1, this.tags());
  }

  flag(code: TokenAttentionCode, message: string): void {
    const { record } = this;
    if (!record.attention.some((known) => known.code === code)) {
      log.warn('a token needs attention', { ...this.tags(), code });
      metricMeter
        .createCounter('payouts_token_attention', 'token', 'tokens that somebody should look at')
        .add(1, { ...this.tags(), code });
    }
    record.attention = [...record.attention.filter((known) => known.code !== code), { code, message }];
  }

  unflag(code: TokenAttentionCode): void {
    this.record.attention = this.record.attention.filter((known) => known.code !== code);
  }

  state(): TokenState {
    return tokenState(this.owner, this.record, Date.now());
  }

  /** What the Temporal UI shows without opening a payload: no secret, and nobody's id. */
  show(): void {
    const state = this.state();
    const lines = [
      state.sentence,
      state.expiresAt && `Expires ${state.expiresAt}, is renewed from ${state.renewsAt}`,
      state.refreshExpiresAt && `The refresh token expires ${state.refreshExpiresAt}`,
      ...state.reasons.map(({ code, message }) => `⚠ ${code}: ${message}`),
    ];
    setCurrentDetails(lines.filter((line) => line !== undefined).join('\n\n'));
    const known = workflowInfo().searchAttributes['PayoutNeedsAttention']?.[0];
    if ((known ?? false) !== state.needsAttention)
      upsertSearchAttributes({ PayoutNeedsAttention: [state.needsAttention] });
  }

  /** Somebody waits for the renewal: it goes ahead of creates. */
  get isWaitedFor(): boolean {
    return this.asked || this.waitedFor;
  }

  /**
   * Time to continue as new, however long a renewal takes: whoever waits for its outcome asks the next run. Counted and
   * not read from the length of the history, because waits end by it and that has to replay.
   */
  get isFull(): boolean {
    return this.updates >= MOST_UPDATES;
  }

  async continueAsNewWhenLong(): Promise<void> {
    if (!this.isFull && !isHistoryLong()) return;
    // Handlers do not wait in a run that is full.
    if (this.isFull) await condition(allHandlersFinished);
    else if (!allHandlersFinished()) return;
    await continueAsNew<(owner: TokenOwner, carried: TokenRecord) => Promise<void>>(this.owner, this.record);
  }

  private tags(): Record<string, string> {
    return { app: this.owner.app, kind: this.owner.openId === undefined ? 'application' : 'user' };
  }
}
