/** One opening as its steps see it: what it remembers, what it was told, and what it shows. */
import {
  CancellationScope,
  setCurrentDetails,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Caller, Prepared } from '../../activities/shared/types.ts';
import type { OpeningResolution } from '../../contract/receiving-account-messages.ts';
import type { OpeningAttentionCode } from '../../domain/attention-codes.ts';
import type {
  CheckedReceivingAccountOrder,
  OpeningPhase,
  OpeningReason,
  ReceivingAccountResult,
  ReceivingAccountState,
} from '../../domain/receiving-account.ts';
import { accountIdOf } from '../../domain/receiving-account.ts';
import { newOpening, openingState } from '../../domain/receiving-account-state.ts';
import { isDoubtfulStart } from '../shared/doubtful-start.ts';

export class OpeningRun {
  readonly record = newOpening(Date.now());
  prepared: Prepared<CheckedReceivingAccountOrder> | undefined;
  /** What a person said in review, until the review has acted on it; with the account that was checked. */
  resolution: { said: OpeningResolution; account?: Record<string, unknown> } | undefined;

  get request(): CheckedReceivingAccountOrder {
    return this.facts.request;
  }

  get settings() {
    return this.facts.settings;
  }

  /** A payer's openings take turns with those of others. */
  get calls() {
    return { ...this.settings, seller: this.request.payerId };
  }

  get caller(): Caller {
    return { environment: this.settings.environment, app: this.request.app, openId: this.request.openId };
  }

  /** What tells whether an earlier run, or one that a restored Temporal has forgotten, may have sent it. */
  get runFacts() {
    const { startedAtMs } = this.record;
    const { firstExecutionRunId: firstRunId } = workflowInfo();
    return { firstRunId, isDoubtful: isDoubtfulStart(), startedAtMs };
  }

  get which() {
    return { payerId: this.request.payerId, currency: this.request.currency };
  }

  get state(): ReceivingAccountState {
    return openingState(this.record, this.prepared?.request.requestId ?? '');
  }

  enter(phase: OpeningPhase): void {
    this.record.phase = phase;
    this.show();
  }

  flag(code: OpeningAttentionCode, message: string): void {
    this.unflag(code);
    this.record.attention = [...this.record.attention, { code, message }];
  }

  unflag(code: OpeningAttentionCode): void {
    this.record.attention = this.record.attention.filter((known) => known.code !== code);
  }

  /** One call to the service; one that waits too long is flagged. */
  async call<T>(work: () => Promise<T>): Promise<T> {
    const watch = new CancellationScope();
    this.record.lastAskedAtMs = Date.now();
    void watch.run(() => this.flagLate()).catch(() => undefined);
    try {
      return await work();
    } finally {
      watch.cancel();
      this.unflag('CALL_WAITS');
    }
  }

  /** What the Temporal UI shows; the search attribute is written only where it changes. */
  show(): void {
    const { phase, sentence, nextStep, reasons, needsAttention } = this.state;
    const lines = reasons.map(({ code, message }) => `⚠ ${code}: ${message}`);
    setCurrentDetails([`**${phase}**: ${sentence}`, `Next: ${nextStep}`, ...lines].join('\n\n'));
    const known = workflowInfo().searchAttributes['PayoutNeedsAttention']?.[0] ?? false;
    if (known !== needsAttention) upsertSearchAttributes({ PayoutNeedsAttention: [needsAttention] });
  }

  opened(
    account: Record<string, unknown>,
    learnedBy: 'answer' | 'person',
    id?: string,
  ): ReceivingAccountResult {
    const accountId = id ?? accountIdOf(account);
    return { ...this.ended('OPENED'), ...(accountId !== undefined && { accountId }), account, learnedBy };
  }

  notOpened(reason: OpeningReason): ReceivingAccountResult {
    return { ...this.ended('NOT_OPENED'), reason };
  }

  private ended(outcome: ReceivingAccountResult['outcome']): ReceivingAccountResult {
    return { requestId: this.request.requestId, outcome, ...this.which };
  }

  private get facts(): Prepared<CheckedReceivingAccountOrder> {
    if (!this.prepared) throw new Error('the request has not been checked yet');
    return this.prepared;
  }

  private async flagLate(): Promise<void> {
    await sleep(this.settings.callWaitsMs, { summary: 'flags a call that waits too long' });
    const since = new Date(this.record.lastAskedAtMs).toISOString();
    this.flag('CALL_WAITS', `a call has waited for its turn or its answer since ${since}`);
    this.show();
  }
}
