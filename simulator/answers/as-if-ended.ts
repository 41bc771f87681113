/** Invents the trade answer of an ended order: consistent in itself, and independent of the ledger. */
import { isJsonObject, type JsonObject } from '../json.ts';
import { amountOnWire, type Money } from '../money.ts';
import { chance, pick, type Random, whole } from '../random.ts';
import { drawText } from './draw.ts';

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
    receive_target_amount: amountOnWire(sumOf(splits, 'SUCCESS')),
    failed_target_amount: amountOnWire(sumOf(splits, 'FAILED')),
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

function sumOf(splits: readonly DrawnSplit[], status: DrawnSplit['status']): bigint {
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
