/** Formats outputs as text. */
import Table from 'cli-table3';
import pc from 'picocolors';
import type { Pausable } from '../../client/leases.ts';
import type { AttentionCode, AttentionOf } from '../../contract/attention-codes.ts';
import type { Money } from '../../contract/money.ts';
import type { AgreedQuote, MadeDecision, PayoutResult, PayoutState } from '../../contract/payout.ts';
import type { Metadata } from '../../contract/payout-request.ts';
import { coveredText } from '../../domain/payout-state.ts';

const { NO_COLOR, FORCE_COLOR, TERM } = process.env;

/** Disabled unless the output is a terminal: picocolors alone also colors pipes if CI is set. */
export const colors = pc.createColors(
  !NO_COLOR && (Boolean(FORCE_COLOR) || (process.stdout.isTTY === true && TERM !== 'dumb')),
);

export function money(value: Money | undefined): string {
  return value ? `${value.amount} ${value.currency}` : '–';
}

/** Two columns without borders. Omits empty values. */
export function facts(rows: Readonly<Record<string, string | number | null | undefined>>): string {
  const shown = Object.entries(rows).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${colors.dim(name.padEnd(width))}  ${value}`).join('\n');
}

/** The columns by their heads. `empty`: the text if there are no rows. */
export function table<Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => string | number | null | undefined>>,
  empty = '',
): string {
  if (rows.length === 0) return empty;
  const shown = new Table({ head: Object.keys(columns), style: { head: [], border: [] } });
  for (const row of rows) shown.push(Object.values(columns).map((cell) => `${cell(row) ?? ''}`));
  return shown.toString();
}

/** Lines, without those that are missing. */
export function lines(...parts: readonly (string | false | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== false && part !== '').join('\n');
}

/** The default width is that of a table cell. */
export function wrap(text: string, width = 60): string {
  return text.replace(new RegExp(`(.{1,${width}})(\\s+|$)`, 'g'), '$1\n').trim();
}

export function stateText(state: PayoutState): string {
  const { quote, reasons, lockExpiresAt, acknowledged } = state;
  const shown = facts({
    payout: state.partnerOrderId,
    phase: state.phase,
    state: state.sentence,
    'as of': state.asOf,
    'next step': state.nextStep,
    order: state.orderId,
    outcome: state.outcome,
    quote: quote && quoteText(quote),
    lock: lockExpiresAt && quote?.lockRateId,
    'lock expires': lockExpiresAt && withTimeLeft(lockExpiresAt),
    'orders to review': state.reviewedOrderIds?.join(', '),
    'create calls sent': state.sends,
    received: state.received && money(state.received),
    failed: state.failed && money(state.failed),
    audit: state.auditStatus,
    acknowledged: acknowledged && acknowledgedText(acknowledged),
    'approval expires': state.approvalExpiresAt,
    decided: decisionsText(state.decisions),
    'last query': state.lastAskedAt,
    'last confirmed': state.lastConfirmedAt,
    ...metadataFacts(state.metadata),
  });
  return lines(shown, ...reasons.map(attentionText));
}

function acknowledgedText({ by, at, note, reasons }: NonNullable<PayoutState['acknowledged']>): string {
  const codes = reasons.map(({ code }) => code).join(', ');
  return `${codes} by ${by}, ${at}${note === undefined ? '' : `: ${note}`}`;
}

export function attentionText({ code, message }: AttentionOf<AttentionCode>): string {
  return colors.yellow(`! ${code}: ${message}`);
}

/** By this machine's clock. */
function withTimeLeft(time: string): string {
  const seconds = Math.ceil((Date.parse(time) - Date.now()) / 1_000);
  return `${time} (${seconds > 0 ? `${seconds} s left` : 'expired'})`;
}

export function resultText(result: PayoutResult): string {
  const { reason, quote, debits, splits, outcome } = result;
  return lines(
    facts({
      payout: result.partnerOrderId,
      outcome: outcome === 'SUCCESS' ? colors.green(outcome) : colors.red(outcome),
      reason: reason && `${reason.code}: ${reason.message}`,
      order: result.orderId,
      quote: quote && quoteText(quote),
      received: result.received && money(result.received),
      failed: result.failed && money(result.failed),
      audit: result.auditStatus,
      finished: result.finishedAt,
      'learned by': result.learnedBy,
      decided: decisionsText(result.decisions),
      ...metadataFacts(result.metadata),
    }),
    table(debits, {
      'debited account': ({ accountType }) => accountType,
      paid: ({ pay }) => money(pay),
      fee: ({ fee }) => money(fee),
    }),
    table(splits, {
      split: ({ distributeId }) => distributeId,
      amount: ({ target }) => money(target),
      status: ({ status, refunded }) => (refunded ? `${status}, returned` : status),
      '': ({ error, refundReason }) => error ?? refundReason,
    }),
  );
}

function decisionsText(decisions: readonly MadeDecision[] = []): string {
  const texts = decisions.map(
    ({ action, by, at, covers }) =>
      `${action} by ${by}, ${at}${covers ? `, covers ${coveredText(covers)}` : ''}`,
  );
  return texts.join('; ');
}

function metadataFacts(metadata: Metadata = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]));
}

export function quoteText(quote: AgreedQuote): string {
  return `pay ${money(quote.pay)} for ${money(quote.target)} at ${quote.exchangeRate}, fee ${money(quote.fee)}`;
}

/** Undefined if the application is not paused. */
export function pausedText({ app, paused }: Pausable): string | undefined {
  if (!paused) return undefined;
  const { by, at, reason } = paused;
  return `${app} is paused: no create call is sent (by ${by}, ${at}${reason === undefined ? '' : `: ${reason}`})`;
}
