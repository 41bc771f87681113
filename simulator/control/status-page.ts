/** The status page: orders, load and active faults. */
import { escapeHtml, page, table } from '../http/html.ts';
import { moneyText } from '../money.ts';
import type { Control } from './control.ts';

const SHOWN_ORDERS = 200;

export function statusPage(control: Control): string {
  const { world } = control;
  const counts = control.counts();
  const figures: [string, string][] = [
    ['Calls in the last second', String(callsInLastSecond(control))],
    ['Calls in total', String(counts.calls)],
    [
      'Busiest second of one application',
      `${counts.maxCallsInAnySecond} (served ${counts.maxServedInAnySecond})`,
    ],
    ['Answered 429', String(counts.answered429)],
    ['Creates received', String(counts.creates)],
    ['Orders paid', String(counts.orders)],
    ['Paid twice', String(counts.paidTwice)],
    ['Notifications sent', String(counts.notifications)],
  ];
  const orders = [...world.orders.all()].slice(-SHOWN_ORDERS).reverse();
  const rows = orders.map((order) => [
    order.outOrderId ?? '',
    order.orderId,
    order.plan.name,
    order.status,
    order.auditStatus,
    moneyText(order.price.pay),
    moneyText(order.price.target),
    String(order.splits.length),
  ]);
  const faults = control
    .faults()
    .map((rule) => [rule.id, rule.operation, rule.kinds.join(', '), String(rule.hit), String(rule.held)]);
  const body = [
    table(['Figure', 'Value'], figures),
    section('Orders', rows, [
      'Partner order id',
      'Order',
      'Scenario',
      'Status',
      'Audit',
      'Pays',
      'Receives',
      'Splits',
    ]),
    section('Faults', faults, ['Rule', 'Operation', 'Kinds', 'Hit', 'Held']),
  ].join('\n');
  return page('Payments simulator', body, '<meta http-equiv="refresh" content="2">');
}

function section(title: string, rows: string[][], headings: string[]): string {
  return `<h2>${escapeHtml(title)}</h2>${rows.length === 0 ? '<p>None.</p>' : table(headings, rows)}`;
}

function callsInLastSecond({ world }: Control): number {
  const calls = world.ledger.calls.list();
  const sinceMs = world.clock.nowMs() - 1000;
  let count = 0;
  for (let index = calls.length - 1; index >= 0 && (calls[index]?.atMs ?? 0) > sinceMs; index -= 1)
    count += 1;
  return count;
}
