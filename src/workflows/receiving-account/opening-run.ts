/** The state of one opening, shared by its steps. */
import { CancellationScope, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import type { Caller, Prepared } from '../../activities/shared/types.ts';
import type { OpeningResolution } from '../../contract/receiving-account-messages.ts';
import type { OpeningAttentionCode } from '../../domain/attention-codes.ts';
import type {
  CheckedOpeningRequest,
  OpeningPhase,
  OpeningReason,
  ReceivingAccountResult,
  ReceivingAccountState,
} from '../../domain/receiving-account.ts';
import { accountIdOf } from '../../domain/receiving-account.ts';
import { newOpeningRecord, openingState } from '../../domain/receiving-account-state.ts';
import { flagLines, showNeedsAttention, withFlag, withoutFlag } from '../shared/attention.ts';
import { isDoubtfulStart } from '../shared/doubtful-start.ts';

export class OpeningRun {
  readonly record = newOpeningRecord(Date.now());
  prepared: Prepared<CheckedOpeningRequest> | undefined;
  /** A person's decision in review and the account that was checked, until the review acts on it. */
  resolution: { decision: OpeningResolution; account?: Record<string, unknown> } | undefined;

  get request(): CheckedOpeningRequest {
    return this.facts.request;
  }

  get settings() {
    return this.facts.settings;
  }

  /** Payers take turns. */
  get calls() {
    return { ...this.settings, seller: this.request.payerId };
  }

  get caller(): Caller {
    return { environment: this.settings.environment, app: this.request.app, openId: this.request.openId };
  }

  /** Tells whether an earlier run, or a run that Temporal lost in a restore, may have sent the request. */
  get runFacts() {
    const { startedAtMs } = this.record;
    const { firstExecutionRunId: firstRunId } = workflowInfo();
    return { firstRunId, isDoubtful: isDoubtfulStart(), startedAtMs };
  }

  get accountKey() {
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
    this.record.attention = withFlag(this.record.attention, code, message);
  }

  unflag(code: OpeningAttentionCode): void {
    this.record.attention = withoutFlag(this.record.attention, code);
  }

  /** One call to the provider. One that waits too long is flagged. */
  async call<T>(work: () => Promise<T>): Promise<T> {
    const watch = new CancellationScope();
    this.record.lastAskedAtMs = Date.now();
    void watch.run(() => this.flagLateCall()).catch(() => undefined);
    try {
      return await work();
    } finally {
      watch.cancel();
      this.unflag('CALL_WAITS');
    }
  }

  /** Shows the state in the Temporal UI. */
  show(): void {
    const { phase, sentence, nextStep, reasons, needsAttention } = this.state;
    const lines = [`**${phase}**: ${sentence}`, `Next: ${nextStep}`, ...flagLines(reasons)];
    setCurrentDetails(lines.join('\n\n'));
    showNeedsAttention(needsAttention);
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
    return { requestId: this.request.requestId, outcome, ...this.accountKey };
  }

  private get facts(): Prepared<CheckedOpeningRequest> {
    if (!this.prepared) throw new Error('the request has not been checked yet');
    return this.prepared;
  }

  private async flagLateCall(): Promise<void> {
    await sleep(this.settings.callWaitsMs, { summary: 'flags a call that waits too long' });
    const since = new Date(this.record.lastAskedAtMs).toISOString();
    this.flag('CALL_WAITS', `a call has waited for its turn or its answer since ${since}`);
    this.show();
  }
}
