/** Formats outputs as text. */
import Table from 'cli-table3';
import pc from 'picocolors';
import type { Pausable } from '../../client/pauses.ts';
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
export function facts(rows: readonly (readonly [string, string | undefined])[]): string {
  const shown = rows.filter((row): row is readonly [string, string] => row[1] !== undefined && row[1] !== '');
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${colors.dim(name.padEnd(width))}  ${value}`).join('\n');
}

export function grid(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({ head: [...head], style: { head: [], border: [] } });
  for (const row of rows) table.push([...row]);
  return table.toString();
}

/** The default width is that of a table cell. */
export function wrap(text: string, width = 60): string {
  return text.replace(new RegExp(`(.{1,${width}})(\\s+|$)`, 'g'), '$1\n').trim();
}

export function stateText(state: PayoutState): string {
  const lines = facts([
    ['payout', state.partnerOrderId],
    ['phase', state.phase],
    ['state', state.sentence],
    ['next step', state.nextStep],
    ['order', state.orderId],
    ['outcome', state.outcome],
    ['quote', state.quote && quoteText(state.quote)],
    ['lock', state.lockExpiresAt && state.quote?.lockRateId],
    ['lock expires', state.lockExpiresAt && withTimeLeft(state.lockExpiresAt)],
    ['orders to review', state.reviewedOrderIds?.join(', ')],
    ['creates sent', state.sends?.toString()],
    ['received', state.received && money(state.received)],
    ['failed', state.failed && money(state.failed)],
    ['audit', state.auditStatus],
    ['acknowledged', state.acknowledged && acknowledgedText(state.acknowledged)],
    ['approval expires', state.approvalExpiresAt],
    ['decided', decisionsText(state.decisions)],
    ['last query', state.lastAskedAt],
    ['last confirmed', state.lastConfirmedAt],
    ...metadataRows(state.metadata),
  ]);
  return [lines, ...state.reasons.map(attentionText)].join('\n');
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
  const { reason, quote, debits, splits } = result;
  const head = facts([
    ['payout', result.partnerOrderId],
    ['outcome', result.outcome === 'SUCCESS' ? colors.green(result.outcome) : colors.red(result.outcome)],
    ['reason', reason && `${reason.code}: ${reason.message}`],
    ['order', result.orderId],
    ['quote', quote && quoteText(quote)],
    ['received', result.received && money(result.received)],
    ['failed', result.failed && money(result.failed)],
    ['audit', result.auditStatus],
    ['finished', result.finishedAt],
    ['learned by', result.learnedBy],
    ['decided', decisionsText(result.decisions)],
    ...metadataRows(result.metadata),
  ]);
  const debitRows = debits.map(({ accountType, pay, fee }) => [accountType, money(pay), money(fee)]);
  const splitRows = splits.map((split) => [
    split.distributeId,
    money(split.target),
    split.refunded ? `${split.status}, returned` : split.status,
    split.error ?? split.refundReason ?? '',
  ]);
  return [
    head,
    debitRows.length > 0 && grid(['debited account', 'paid', 'fee'], debitRows),
    splitRows.length > 0 && grid(['split', 'amount', 'status', ''], splitRows),
  ]
    .filter((part) => part !== false)
    .join('\n');
}

function decisionsText(decisions: readonly MadeDecision[] | undefined): string | undefined {
  const texts = decisions?.map(
    ({ action, by, at, covers }) =>
      `${action} by ${by}, ${at}${covers ? `, covers ${coveredText(covers)}` : ''}`,
  );
  return texts?.join('; ');
}

function metadataRows(metadata: Metadata = {}): [string, string][] {
  return Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]);
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
