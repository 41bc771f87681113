/** Whether what a payout said of itself is what the service's own ledger says. */
import type { LedgerOf } from '../simulator/control/answers.ts';
import type { PayoutResult } from '../src/domain/payout.ts';

/** What is wrong, in plain words; nothing where all is well. */
export function lies(result: PayoutResult, ledger: LedgerOf): string[] {
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
      order?.orderId !== orderId && `order ${orderId}, and the service knows ${order?.orderId ?? 'none'}`,
      order?.status !== outcome && `${outcome}, and the service says ${order?.status ?? 'nothing'}`,
      ledger.debits !== 1 && `${outcome}, and money left ${ledger.debits} times`,
      order !== undefined && splitsDiffer(result, order) && 'the splits are not those of the service',
    );
  return found.filter((lie) => lie !== false);
}

function splitsDiffer({ splits }: PayoutResult, order: LedgerOf['orders'][number]): boolean {
  const said = splits.map(({ distributeId, status }) => `${distributeId} ${status}`).sort();
  const known = order.splits.map(({ distributeId, status }) => `${distributeId} ${status}`).sort();
  return said.join() !== known.join();
}
