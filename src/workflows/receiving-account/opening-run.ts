/** The state of one opening, shared by its steps. */
import { CancellationScope, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import type { ReceivingAccountAttentionCode } from '../../contract/attention-codes.ts';
import type { ReceivingAccountPhase } from '../../contract/codes.ts';
import { ownIdOf } from '../../contract/ids.ts';
import type {
  CheckedReceivingAccountRequest,
  ReceivingAccountReason,
  ReceivingAccountResult,
  ReceivingAccountState,
} from '../../contract/receiving-account.ts';
import type { ReceivingAccountResolution } from '../../contract/workflows.ts';
import {
  accountIdOf,
  ReceivingAccountRecord,
  receivingAccountState,
} from '../../domain/receiving-account.ts';
import { flagLines, showAttention } from '../shared/attention.ts';
import type { CallSettings } from '../shared/calls.ts';
import { RequestRun } from '../shared/run-facts.ts';

export class OpeningRun extends RequestRun<CheckedReceivingAccountRequest, ReceivingAccountAttentionCode> {
  readonly record = new ReceivingAccountRecord(workflowInfo().startTime.getTime());
  /** A person's decision in review and the account that was checked, until the review acts on it. */
  resolution:
    | { decision: ReceivingAccountResolution; account?: Record<string, unknown>; voidedBy?: string }
    | undefined;
  /** A `resolve` update is checking the account that a person named. */
  isResolving = false;

  /** Payers take turns. */
  get calls(): CallSettings {
    return { ...this.settings, onBehalfOf: this.request.payerId };
  }

  get accountKey() {
    return { payerId: this.request.payerId, currency: this.request.currency };
  }

  get state(): ReceivingAccountState {
    return receivingAccountState(
      this.record,
      this.prepared?.request.requestId ?? ownIdOf(workflowInfo().workflowId),
    );
  }

  enter(phase: ReceivingAccountPhase): void {
    this.record.phase = phase;
    this.show();
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
    const { phase, sentence, nextStep, reasons } = this.state;
    const lines = [`**${phase}**: ${sentence}`, `Next: ${nextStep}`, ...flagLines(reasons)];
    setCurrentDetails(lines.join('\n\n'));
    showAttention(reasons);
  }

  opened(
    account: Record<string, unknown>,
    learnedBy: 'answer' | 'person',
    accountId = accountIdOf(account),
  ): ReceivingAccountResult {
    return { ...this.ended('OPENED'), ...(accountId !== undefined && { accountId }), account, learnedBy };
  }

  notOpened(reason: ReceivingAccountReason): ReceivingAccountResult {
    return { ...this.ended('NOT_OPENED'), reason };
  }

  private ended(outcome: ReceivingAccountResult['outcome']): ReceivingAccountResult {
    return { requestId: this.request.requestId, outcome, ...this.accountKey };
  }

  private async flagLateCall(): Promise<void> {
    await sleep(this.settings.callWaitsMs, { summary: 'flags a call that waits too long' });
    const since = new Date(this.record.lastAskedAtMs).toISOString();
    this.flag('CALL_WAITS', `a call has waited for its turn or its answer since ${since}`);
    this.show();
  }
}
