/** Reports of the ledger for people and tests: amounts as decimal text, times as ISO 8601. */
import { formatMinor, type Money } from '../money.ts';
import type { Order } from '../orders/order.ts';
import { isoTime } from '../runtime.ts';
import type { World } from '../world.ts';
import type { Counts, LedgerOf, LedgerRecord, OrderRecord } from './schemas.ts';

export function ledgerReport(world: World): LedgerRecord {
  const debits: LedgerRecord['debits'] = {};
  for (const order of world.orders.all()) {
    const partnerOrderId = order.outOrderId;
    if (partnerOrderId === undefined || Object.hasOwn(debits, partnerOrderId)) continue;
    const orders = world.orders.byPartnerOrderId(partnerOrderId);
    debits[partnerOrderId] = { count: orders.length, debited: debitedBy(orders) };
  }
  return {
    orders: [...world.orders.all()].map(orderReport),
    creates: [...world.ledger.creates.list()],
    notifications: [...world.notifier.log.list()],
    debits,
    paidTwice: paidTwice(world),
    receivingAccounts: world.receivingAccounts.all(),
  };
}

export function ledgerOfReport(world: World, partnerOrderId: string): LedgerOf {
  const orders = world.orders.byPartnerOrderId(partnerOrderId);
  const ours = (entry: { partnerOrderId: string | null }) => entry.partnerOrderId === partnerOrderId;
  return {
    partnerOrderId,
    orders: orders.map(orderReport),
    creates: world.ledger.creates.list().filter(ours),
    debits: orders.length,
    debited: debitedBy(orders),
    notifications: world.notifier.log.list().filter(ours),
  };
}

export function countsReport(world: World): Counts {
  const apps = world.rateLimit.counts();
  const busiest = (pick: 'maxCallsInAnySecond' | 'maxServedInAnySecond') =>
    Math.max(0, ...Object.values(apps).map((app) => app[pick]));
  return {
    calls: world.ledger.calls.total,
    byOperation: Object.fromEntries(world.ledger.callsByOperation),
    answered429: world.ledger.answered429,
    rejected: Object.values(apps).reduce((total, app) => total + app.rejected, 0),
    maxCallsInAnySecond: busiest('maxCallsInAnySecond'),
    maxServedInAnySecond: busiest('maxServedInAnySecond'),
    apps,
    creates: world.ledger.creates.total,
    orders: world.orders.size,
    // Every order is one debit: a refused create adds no order.
    debits: world.orders.size,
    paidTwice: paidTwice(world).length,
    notifications: world.notifier.log.total,
  };
}

export function orderReport(order: Order): OrderRecord {
  const { price, plan } = order;
  return {
    orderId: order.orderId,
    partnerOrderId: order.outOrderId ?? null,
    appId: order.appId,
    payerId: order.payerId,
    scenario: plan.name,
    status: order.status,
    auditStatus: order.auditStatus,
    complete: order.complete,
    lockRateId: order.lockRateId,
    exchangeRate: price.rate.text,
    beneficiary: order.receiver,
    instructed: asText(order.instructed),
    pay: asText(price.pay),
    target: asText(price.target),
    fee: asText(price.fee),
    returned: asText({ currency: price.pay.currency, minor: order.returnedMinor }),
    splits: order.splits.map((split) => ({
      distributeId: split.distributeId,
      target: asText(split.target),
      status: split.status,
      refunded: split.refundFlag,
    })),
    refunds: order.splits.filter((split) => split.refundFlag).length,
    createdAt: isoTime(order.createdAtWallMs),
    finishedAt: order.finishedAtWallMs === undefined ? null : isoTime(order.finishedAtWallMs),
  };
}

function paidTwice(world: World): string[] {
  const ids = new Set<string>();
  for (const { outOrderId } of world.orders.all())
    if (outOrderId !== undefined && world.orders.byPartnerOrderId(outOrderId).length > 1) ids.add(outOrderId);
  return [...ids];
}

function debitedBy(orders: readonly Order[]): { currency: string; amount: string }[] {
  const sums = new Map<string, bigint>();
  for (const { price } of orders)
    sums.set(price.pay.currency, (sums.get(price.pay.currency) ?? 0n) + price.pay.minor);
  return [...sums].map(([currency, minor]) => asText({ currency, minor }));
}

function asText(money: Money): { currency: string; amount: string } {
  return { currency: money.currency, amount: formatMinor(money.minor) };
}
