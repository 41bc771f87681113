/** The state of one opening, shared by its steps. */
import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
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
import type { Clearance } from '../../domain/payout-record.ts';
import {
  accountIdOf,
  ReceivingAccountRecord,
  receivingAccountState,
} from '../../domain/receiving-account.ts';
import { flagLines, showAttention } from '../shared/attention.ts';
import type { CallSettings } from '../shared/calls.ts';
import { RequestRun } from '../shared/request-run.ts';

export class OpeningRun extends RequestRun<CheckedReceivingAccountRequest, ReceivingAccountAttentionCode> {
  readonly record = new ReceivingAccountRecord(workflowInfo().startTime.getTime());
  /** A person's decision in review and the account that was checked, until the review acts on it. */
  resolution:
    | { decision: ReceivingAccountResolution; account?: Record<string, unknown>; voidedBy?: string }
    | undefined;
  /** This run may send again. */
  cleared: Clearance | undefined;

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

  show(): void {
    const { phase, sentence, nextStep, reasons } = this.state;
    const lines = [`**${phase}**: ${sentence}`, `Next: ${nextStep}`, ...flagLines(reasons)];
    setCurrentDetails(lines.join('\n\n'));
    showAttention(reasons);
  }

  opened(
    account: Record<string, unknown>,
    learnedBy: 'response' | 'operator',
    accountId = accountIdOf(account),
  ): ReceivingAccountResult {
    return { ...this.ended('OPENED'), ...(accountId !== undefined && { accountId }), account, learnedBy };
  }

  notOpened(code: ReceivingAccountReason['code'], message: string): ReceivingAccountResult {
    return { ...this.ended('NOT_OPENED'), reason: { code, message } };
  }

  private ended(outcome: ReceivingAccountResult['outcome']): ReceivingAccountResult {
    return { requestId: this.request.requestId, outcome, ...this.accountKey };
  }
}
