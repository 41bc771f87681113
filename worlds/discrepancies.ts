/** Compares the result of a payout with the provider's ledger. */
import type { LedgerOf, OrderRecord } from '../simulator/index.ts';
import { formatMinor, parseMinor } from '../simulator/money.ts';
import type { PayoutResult } from '../src/contract/payout.ts';

interface Money {
  currency: string;
  amount: string;
}

/** The discrepancies in plain words; empty if there are none. */
export function discrepancies(result: PayoutResult, ledger: LedgerOf): string[] {
  const { outcome, orderId } = result;
  const [order, ...others] = ledger.orders;
  const found = [
    ledger.debits > 1 && `money left ${ledger.debits} times`,
    others.length > 0 && `${ledger.orders.length} orders exist`,
  ];
  if (outcome === 'NOT_CREATED')
    found.push(
      order !== undefined && `NOT_CREATED, and order ${order.orderId} exists`,
      ledger.debits > 0 && 'NOT_CREATED, and money left',
    );
  else
    found.push(
      order?.orderId !== orderId && `order ${orderId}, and the provider knows ${order?.orderId ?? 'none'}`,
      order?.status !== outcome && `${outcome}, and the provider says ${order?.status ?? 'nothing'}`,
      ledger.debits !== 1 && `${outcome}, and money left ${ledger.debits} times`,
      ...(order ? differences(result, order) : []),
    );
  return found.filter((text) => typeof text === 'string');
}

/** Sums, payments and debits of an order. Texts, times and the audit status are not compared. */
function differences(
  { received, failed, debits, splits }: PayoutResult,
  order: OrderRecord,
): (string | false)[] {
  const { target, pay, fee } = order;
  const paid = (status: string) =>
    order.splits.filter((split) => split.status === status).map((split) => split.target);
  const taken = (part: 'pay' | 'fee') => debits.map((debit) => debit[part]);
  return [
    differs('received', received, sumOf(target.currency, paid('SUCCESS'))),
    differs('failed', failed, sumOf(target.currency, paid('FAILED'))),
    differs('debited', sumOf(pay.currency, taken('pay')), pay),
    differs('fee', sumOf(fee.currency, taken('fee')), fee),
    listed(splits) !== listed(order.splits) && 'the splits are not those of the provider',
  ];
}

function listed(splits: PayoutResult['splits'] | OrderRecord['splits']): string {
  return splits
    .map(({ distributeId, target, status, refunded }) =>
      [distributeId, target.amount, target.currency, status, refunded].join(' '),
    )
    .sort()
    .join();
}

/** Undefined if any amount is in another currency. */
function sumOf(currency: string, amounts: readonly Money[]): Money | undefined {
  let sum = 0n;
  for (const money of amounts) {
    const minor = parseMinor(money.amount);
    if (minor === undefined || money.currency !== currency) return undefined;
    sum += minor;
  }
  return { currency, amount: formatMinor(sum) };
}

function differs(what: string, said: Money | undefined, known: Money | undefined): string | false {
  if (show(said) === show(known)) return false;
  return `${what} ${show(said)}, and the provider says ${show(known)}`;
}

function show(money: Money | undefined): string {
  return money ? `${money.amount} ${money.currency}` : 'something else';
}
