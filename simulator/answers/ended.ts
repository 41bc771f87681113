/**
 * False answers about an order's end: invents one, and decides whether a client can detect it. A client can only compare: the
 * fields of an answer with each other and with the request, and the result with the detail. A false answer that passes every
 * comparison is undetectable, so the simulator never sends one. `docs/simulator.md` lists the comparisons.
 *
 * Answers are read as leniently as any client might: a stricter client accepts fewer of them.
 */
import { isLosslessNumber } from 'lossless-json';
import { isJsonObject, type JsonObject } from '../json.ts';
import { amountOnWire, type Money, parseMinor } from '../money.ts';
import { chance, pick, type Random, whole } from '../runtime.ts';
import { asEntries, drawText } from './draw.ts';

/** What the client knows from its own request. */
export interface TradeQuery {
  clientId: string;
  partnerOrderId: string;
  /** Undefined if no order exists: every answer about one is then false. */
  target: Money | undefined;
}

/** The true answers of both trade queries now. */
export interface TrueTrade {
  queryResult: JsonObject;
  queryPayDetail: JsonObject;
}

/**
 * Whether `operation` may answer `data`: it shows no end, the true end, or a false end that a client can detect. If
 * `mayContradict` is set, the true answer of the other query may reveal the false end. Only one query of an order has it
 * set, or both could give the same false answer.
 */
export function isTrueOrDetectable(
  operation: TradeOperation,
  data: unknown,
  {
    asked,
    truth,
    mayContradict,
  }: { asked: TradeQuery; truth: TrueTrade | undefined; mayContradict: boolean },
): boolean {
  const shown = readEnd(operation, data, asked);
  if (shown === undefined) return true;
  if (truth === undefined) return mayContradict;
  const known = readEnd(operation, truth[operation], asked);
  if (known !== undefined && sameEnd(shown, known)) return true;
  if (!mayContradict) return false;
  const other = operation === 'queryResult' ? 'queryPayDetail' : 'queryResult';
  const otherEnd = readEnd(other, truth[other], asked);
  return otherEnd === undefined || !agree(shown, otherEnd);
}

/** An end of an order, read from an answer that agrees with itself and with the request. */
interface End {
  status: string;
  orderId: string;
  received: bigint | undefined;
  failed: bigint | undefined;
  /** Only in a detail. */
  splits?: Split[];
  debits?: string[];
}

interface Split {
  distributeId: string;
  status: string;
  minor: bigint;
  refunded: boolean;
}

function readEnd(operation: TradeOperation, data: unknown, asked: TradeQuery): End | undefined {
  if (!isJsonObject(data) || !isFinal(data)) return undefined;
  if (data['client_id'] !== asked.clientId || data['partner_order_id'] !== asked.partnerOrderId)
    return undefined;
  if (asked.target && data['target_currency'] !== asked.target.currency) return undefined;
  const orderId = textOf(data['order_id']);
  const status = textOf(data['status']);
  if (orderId === undefined || status === undefined) return undefined;
  const head = { orderId, status };
  const end = operation === 'queryResult' ? readResult(data, head) : readDetail(data, head);
  return end && sumsFit(end, asked.target) ? end : undefined;
}

function isFinal(data: JsonObject): boolean {
  const status = data['status'];
  if (status !== 'SUCCESS' && status !== 'PARTIAL_SUCCESS' && status !== 'FAILED') return false;
  return data['target_currency'] !== 'CNY' || flagOf(data['complete_flag']) === true;
}

function readResult(data: JsonObject, head: Pick<End, 'orderId' | 'status'>): End | undefined {
  const received = minorOf(data['receive_target_amount']);
  const failed = minorOf(data['failed_target_amount']);
  return received === undefined || failed === undefined ? undefined : { ...head, received, failed };
}

function readDetail(data: JsonObject, head: Pick<End, 'orderId' | 'status'>): End | undefined {
  const splits = asEntries(data['pay_distribute_detail']).map((entry) =>
    readSplit(entry, data['target_currency']),
  );
  const debits = asEntries(data['pay_account_detail']).map(readDebit);
  if (!splits.every((split) => split !== undefined)) return undefined;
  if (splits.length === 0 && head.status !== 'FAILED') return undefined;
  const received = minorOf(data['receive_target_amount']);
  const failed = minorOf(data['failed_target_amount']);
  if (splits.length === 0) return { ...head, received, failed, splits, debits };
  const sums = { received: sumOf(splits, 'SUCCESS'), failed: sumOf(splits, 'FAILED') };
  if (received !== undefined && received !== sums.received) return undefined;
  if (failed !== undefined && failed !== sums.failed) return undefined;
  return statusFits(head.status, splits) ? { ...head, ...sums, splits, debits } : undefined;
}

function readSplit(entry: unknown, currency: unknown): Split | undefined {
  if (!isJsonObject(entry) || entry['target_currency'] !== currency) return undefined;
  const distributeId = textOf(entry['distribute_id']) ?? '';
  const status = textOf(entry['status']);
  const minor = minorOf(entry['target_amount']);
  const refunded = flagOf(entry['refund_flag']) ?? false;
  if (minor === undefined) return undefined;
  return status === 'SUCCESS' || status === 'FAILED' ? { distributeId, status, minor, refunded } : undefined;
}

/** An unreadable debit proves nothing: a client may skip it. */
function readDebit(entry: unknown): string {
  if (!isJsonObject(entry)) return 'unreadable';
  const amounts = ['pay_amount', 'fee_amount', 'pay_actual_amount'].map((name) => minorOf(entry[name]));
  return `${entry['pay_currency']} ${amounts.join(' ')}`;
}

function statusFits(status: string, splits: readonly Split[]): boolean {
  const succeeded = splits.filter((split) => split.status === 'SUCCESS').length;
  if (succeeded === splits.length) return status === 'SUCCESS';
  return status === (succeeded === 0 ? 'FAILED' : 'PARTIAL_SUCCESS');
}

/** An order that failed before any split has no sums to check. */
function sumsFit({ status, received = 0n, failed = 0n, splits }: End, target: Money | undefined): boolean {
  if (status === 'FAILED' && received !== 0n) return false;
  if (status === 'FAILED' && (splits === undefined || splits.length === 0)) return true;
  if (status === 'SUCCESS' && failed !== 0n) return false;
  if (status === 'PARTIAL_SUCCESS' && (received === 0n || failed === 0n)) return false;
  return target === undefined || received + failed === target.minor;
}

function agree(one: End, other: End): boolean {
  return (
    one.orderId === other.orderId &&
    one.status === other.status &&
    (one.received ?? 0n) === (other.received ?? 0n) &&
    (one.failed ?? 0n) === (other.failed ?? 0n)
  );
}

/** Ignores descriptions, times, account names and the audit status, which no client can check. */
function sameEnd(one: End, other: End): boolean {
  return agree(one, other) && listed(one) === listed(other);
}

function listed({ splits = [], debits = [] }: End): string {
  const lines = splits.map((split) => Object.values(split).join(' '));
  return [...lines.sort(), '', ...[...debits].sort()].join('\n');
}

function sumOf(splits: readonly Split[], status: string): bigint {
  return splits.filter((split) => split.status === status).reduce((sum, { minor }) => sum + minor, 0n);
}

function minorOf(value: unknown): bigint | undefined {
  const text = isLosslessNumber(value) ? value.toString() : value;
  if (typeof text !== 'string') return undefined;
  return parseMinor(text.trim().replace(/^(\d+\.\d\d)0+$/, '$1'));
}

function flagOf(value: unknown): boolean | undefined {
  if (value === true || value === 'true') return true;
  return value === false || value === 'false' ? false : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

type Change = (record: JsonObject, random: Random) => JsonObject;

const CHANGES: readonly [Change, ...Change[]] = [
  (record, random) => ({ ...record, partner_order_id: drawText(random, 64) }),
  (record, random) => ({ ...record, client_id: drawText(random, 64) }),
  (record, random) => ({ ...record, order_id: drawText(random, 64) }),
  (record) => ({ ...record, complete_flag: false }),
  (record) => ({ ...record, status: 'PROCESSING' }),
  (record) => ({ ...record, target_currency: record['target_currency'] === 'USD' ? 'EUR' : 'USD' }),
  (record) => ({ ...record, receive_target_amount: '0.37', failed_target_amount: '0.11' }),
  (record) => ({ ...record, status: record['status'] === 'FAILED' ? 'SUCCESS' : 'FAILED' }),
];

const MAX_TRIES = 20;

/** Changes `data` until `isAllowed`; null if that takes too many tries. */
export function madeDetectable(
  data: unknown,
  random: Random,
  isAllowed: (data: unknown) => boolean,
): unknown {
  let changed = data;
  for (let tries = 0; tries < MAX_TRIES && !isAllowed(changed); tries += 1)
    if (isJsonObject(changed)) changed = pick(random, CHANGES)(changed, random);
  return isAllowed(changed) ? changed : null;
}

/** The amounts of an order, which every party knows. */
export interface OrderTerms {
  target: Money;
  pay: Money;
  fee: Money;
}

type Status = 'SUCCESS' | 'PARTIAL_SUCCESS' | 'FAILED';
export type TradeOperation = 'queryResult' | 'queryPayDetail';

/** Changes `record`, true or invented, into the record of an ended order. */
export function asIfEnded(
  operation: TradeOperation,
  record: JsonObject,
  terms: OrderTerms,
  random: Random,
): JsonObject {
  const status = pick<Status>(random, ['SUCCESS', 'FAILED', 'PARTIAL_SUCCESS']);
  const splits = splitsOf(status, terms.target, random);
  const sums = {
    receive_target_amount: amountOnWire(sumOfDrawn(splits, 'SUCCESS')),
    failed_target_amount: amountOnWire(sumOfDrawn(splits, 'FAILED')),
  };
  const ended = {
    ...record,
    status,
    complete_flag: true,
    target_currency: terms.target.currency,
    finish_time: record['create_time'] ?? '',
    ...sums,
  };
  if (operation === 'queryResult') return { ...ended, audit_status: 'APPROVED' };
  return {
    ...ended,
    pay_account_detail: isJsonObject(record['pay_account_detail'])
      ? record['pay_account_detail']
      : [debit(terms, random)],
    pay_distribute_detail: splits.map((split) => splitView(split, terms.target.currency, random)),
  };
}

interface DrawnSplit {
  minor: bigint;
  status: 'SUCCESS' | 'FAILED';
}

/** A failed order need not list any splits. */
function splitsOf(status: Status, target: Money, random: Random): DrawnSplit[] {
  if (status === 'FAILED' && chance(random, 0.5)) return [];
  const count = status === 'PARTIAL_SUCCESS' ? 2 : whole(random, 1, 3);
  const share = target.minor / BigInt(count);
  return Array.from({ length: count }, (_, index) => ({
    minor: index === count - 1 ? target.minor - share * BigInt(count - 1) : share,
    status: status === 'FAILED' || (status === 'PARTIAL_SUCCESS' && index === 0) ? 'FAILED' : 'SUCCESS',
  }));
}

function sumOfDrawn(splits: readonly DrawnSplit[], status: DrawnSplit['status']): bigint {
  return splits.filter((split) => split.status === status).reduce((sum, { minor }) => sum + minor, 0n);
}

function splitView({ minor, status }: DrawnSplit, currency: string, random: Random): JsonObject {
  return {
    distribute_id: `DI${drawText(random, 20)}`,
    target_currency: currency,
    target_amount: amountOnWire(minor),
    status,
    finish_time: '',
    refund_flag: chance(random, 0.1),
  };
}

function debit({ pay, fee }: OrderTerms, random: Random): JsonObject {
  return {
    account_id: `AC${drawText(random, 20)}`,
    account_type: 'AVAIL_ACCOUNT',
    pay_currency: pay.currency,
    pay_amount: amountOnWire(pay.minor),
    fee_amount: amountOnWire(fee.minor),
    pay_actual_amount: amountOnWire(pay.minor - fee.minor),
  };
}
