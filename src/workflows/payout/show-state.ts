/**
 * What the Temporal UI shows without opening a payload. A search attribute costs a history event and a write to the
 * visibility store, so only changes are written, and only where a payout waits or ends. The `state` query and the
 * event summaries show the phases that last a moment.
 */
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { Money } from '../../domain/money.ts';
import type { CheckedPayoutRequest, PayoutSettings, PayoutState } from '../../domain/payout.ts';
import type { PayoutRecord } from '../../domain/payout-record.ts';
import { payoutState } from '../../domain/payout-state.ts';

/** As much of a run as its state needs. There is no request before it is checked. */
interface ShownRun {
  readonly record: PayoutRecord;
  readonly checkedRequest: CheckedPayoutRequest | undefined;
  readonly settings: PayoutSettings;
}

export function showState(run: ShownRun): void {
  const state = stateOf(run);
  setCurrentDetails(details(run, state));
  const wanted = attributes(run, state);
  const known = workflowInfo().searchAttributes;
  const changed = Object.entries(wanted).filter(([name, [value]]) => known[name]?.[0] !== value);
  if (changed.length > 0) upsertSearchAttributes(Object.fromEntries(changed));
}

export function stateOf(run: ShownRun): PayoutState {
  const { record, checkedRequest } = run;
  if (!checkedRequest) return payoutState(record, '');
  return payoutState(record, checkedRequest.partnerOrderId, run.settings.lockLifetimeMs);
}

/** No personal data here: ids and statuses only. */
function attributes(run: ShownRun, state: PayoutState): Record<string, [string] | [boolean]> {
  const known = workflowInfo().searchAttributes;
  return {
    ...(run.checkedRequest && { PayoutApp: [run.checkedRequest.app] }),
    PayoutPhase: [state.phase],
    ...(state.outcome && { PayoutOutcome: [state.outcome] }),
    ...(state.orderId && { PayoutOrderId: [state.orderId] }),
    ...(state.auditStatus && { PayoutAuditStatus: [state.auditStatus] }),
    // Absent means false: most payouts never need anybody.
    ...((state.needsAttention || known['PayoutNeedsAttention'] !== undefined) && {
      PayoutNeedsAttention: [state.needsAttention],
    }),
  };
}

/** Amounts, why it waits and until when: what an operator would otherwise have to ask for. */
function details(run: ShownRun, state: PayoutState): string {
  const { quote, received, failed, orderId, auditStatus } = state;
  const { instructedAmount, notBefore } = run.checkedRequest ?? {};
  const lines = [
    `**${state.phase}**: ${state.sentence}`,
    `Next: ${state.nextStep}`,
    state.phase === 'SCHEDULED' && notBefore && `Begins at ${notBefore}`,
    state.phase === 'AWAITING_APPROVAL' &&
      state.approvalExpiresAt &&
      `Can be approved until ${state.approvalExpiresAt}`,
    ...state.reasons.map((reason) => `⚠ ${reason.code}: ${reason.message}`),
    quote
      ? `Pays ${show(quote.pay)} for ${show(quote.target)} at ${quote.exchangeRate}, fee ${show(quote.fee)}`
      : instructedAmount && `Instructed: ${show(instructedAmount)}`,
    state.lockExpiresAt && `Its lock lives until ${state.lockExpiresAt}`,
    received && `Received ${show(received)}${failed ? `, failed ${show(failed)}` : ''}`,
    orderId && `Order ${orderId}${auditStatus ? `, risk audit ${auditStatus}` : ''}`,
    state.lastAskedAt &&
      `Provider last asked ${state.lastAskedAt}, last confirmed ${state.lastConfirmedAt ?? 'never'}`,
  ];
  // Markdown's line break: the UI shows only so many lines at a time.
  return lines.filter((line) => typeof line === 'string' && line !== '').join('  \n');
}

function show({ amount, currency }: Money): string {
  return `${amount} ${currency}`;
}
