/** How answers show an order: the v2 payout order, the trade result, the trade detail. */
import { type JsonObject, mergePatch } from '../json.ts';
import { amountOnWire, type Money, moneyOnWire, rateOnWire } from '../money.ts';
import type { Clock } from '../runtime.ts';
import type { Settings } from '../settings.ts';
import { FINAL_STATUSES, type Order, type Split, sumOf } from './order.ts';
import type { Oddity } from './scenario.ts';

/** What the views depend on. */
export interface Viewer {
  settings: Settings;
  clock: Clock;
}

/** The order without its oddity, so that views of it are true and count no false answer. */
export function withoutOddity(order: Order): Order {
  return { ...order, plan: { ...order.plan, oddity: undefined } };
}

/** Data of `createCnyOrder` and `queryDetail`. */
export function payoutOrderView(order: Order, viewer: Viewer): JsonObject {
  const { price } = order;
  const nothing = moneyOnWire({ currency: price.fee.currency, minor: 0n });
  return {
    payMoney: moneyOnWire(price.pay),
    targetMoney: moneyOnWire(price.target),
    serviceCharge: {
      finalFee: moneyOnWire(price.fee),
      feeRate: null,
      cutFeeRate: null,
      fee: moneyOnWire(price.fee),
      cutFee: nothing,
      fixFee: nothing,
      lessThanMinPayoutFee: nothing,
      minPayout: nothing,
    },
    orderId: order.orderId,
    status: v2StatusOf(order, viewer),
    failReason: order.errorMsg ?? null,
    remark: '',
    receiver: receiverView(order),
    lockRateId: order.lockRateId,
    exchange: {
      originCurrency: price.pay.currency,
      targetCurrency: price.target.currency,
      rateId: null,
      exchangeRate: rateOnWire(price.rate, viewer.settings.shownRate),
    },
    deliveryDate: null,
  };
}

function receiverView(order: Order): JsonObject {
  return {
    bizId: `BA-${order.orderId}`,
    outOrderId: order.plan.outOrderIdHidden ? null : (order.outOrderId ?? null),
    ...order.receiver,
    firstName: order.receiver.bankAccountName,
    lastName: null,
    userNick: null,
    transactionId: `TX-${order.orderId}`,
  };
}

/** Data of `queryResult`. */
export function tradeResultView(order: Order, clientId: string, viewer: Viewer): JsonObject {
  return {
    ...tradeHead(order, clientId, viewer),
    ...sumsView(order),
    ...(order.errorMsg === undefined ? {} : { error_msg: order.errorMsg.slice(0, 128) }),
    audit_status: order.auditStatus,
  };
}

/** Data of `queryPayDetail`. */
export function tradeDetailView(order: Order, clientId: string, viewer: Viewer): JsonObject {
  const { settings } = viewer;
  const late = isOddNow(order, 'detail-late', viewer);
  const wrong = !late && order.splits.length > 0 && isOddNow(order, 'sums-wrong', viewer);
  const splits = order.splits.map((split, index) =>
    splitView(split, wrong && index === 0 ? split.target.minor - 1n : split.target.minor, settings),
  );
  const debits = order.finalAtMs === undefined ? [] : [debitView(order, viewer)];
  return {
    ...tradeHead(order, clientId, viewer),
    ...sumsView(order),
    ...entries('pay_account_detail', late ? [] : debits, settings),
    ...entries('pay_distribute_detail', late ? [] : splits, settings),
  };
}

/** Applies the answer patches of the control API. */
export function patched(order: Order, operation: string, data: JsonObject): unknown {
  const patch = order.answerPatches.get(operation);
  return patch === undefined ? data : mergePatch(data, patch);
}

function tradeHead(order: Order, clientId: string, viewer: Viewer): JsonObject {
  const { settings } = viewer;
  const incomplete = isOddNow(order, 'complete-late', viewer);
  const status = statusNow(order, viewer);
  const failed = status === 'FAILED' && settings.emptyCreateTimeOnFailure;
  const complete = order.complete && !incomplete;
  return {
    order_id: order.orderId,
    client_id: clientId,
    partner_order_id: order.outOrderId,
    complete_flag: complete,
    target_currency: order.price.target.currency,
    create_time: failed ? '' : timestamp(order.createdAtWallMs, settings),
    ...(complete && order.finishedAtWallMs !== undefined
      ? { finish_time: timestamp(order.finishedAtWallMs, settings) }
      : {}),
    status,
  };
}

function statusNow(order: Order, viewer: Viewer): string {
  if (isOddNow(order, 'unknown-status', viewer)) return order.plan.unknownStatus;
  return isOddNow(order, 'failed-received', viewer) ? 'FAILED' : order.status;
}

function sumsView(order: Order): JsonObject {
  const { target } = order.price;
  return {
    receive_target_amount: amountOnWire(sumOf(order.splits, 'SUCCESS', target).minor),
    failed_target_amount: amountOnWire(sumOf(order.splits, 'FAILED', target).minor),
  };
}

function debitView(order: Order, viewer: Viewer): JsonObject {
  const { pay: agreed, fee } = order.price;
  const more = isOddNow(order, 'debit-differs', viewer)
    ? (agreed.minor * BigInt(order.plan.debitPercent)) / 100n
    : 0n;
  const pay: Money = { currency: agreed.currency, minor: agreed.minor + more };
  const actual: Money = { currency: pay.currency, minor: pay.minor - fee.minor };
  return {
    account_id: `AC-${order.payerId}-${pay.currency}`.slice(0, 64),
    account_type: 'AVAIL_ACCOUNT',
    pay_currency: pay.currency,
    pay_amount: amountOnWire(pay.minor),
    fee_amount: amountOnWire(fee.minor),
    pay_actual_amount: amountOnWire(actual.minor),
  };
}

function splitView(split: Split, minor: bigint, settings: Settings): JsonObject {
  return {
    distribute_id: split.distributeId,
    target_currency: split.target.currency,
    target_amount: amountOnWire(minor),
    status: split.status,
    finish_time: timestamp(split.finishedAtWallMs, settings),
    ...(split.errorMsg === undefined ? {} : { error_msg: split.errorMsg }),
    ...(split.refundReason === undefined ? {} : { refund_reason: split.refundReason }),
    refund_flag: split.refundFlag || (settings.failedRefundFlag && split.status === 'FAILED'),
  };
}

function entries(field: string, list: JsonObject[], settings: Settings): JsonObject {
  if (list.length === 0 && settings.emptyDetail === 'absent') return {};
  if (list.length === 0 && settings.emptyDetail === 'null') return { [field]: null };
  return { [field]: settings.detailShape === 'object' && list.length === 1 ? list[0] : list };
}

function v2StatusOf(order: Order, viewer: Viewer): string {
  if (order.v2Status !== undefined) return order.v2Status;
  if (!FINAL_STATUSES.includes(order.status)) return 'pending';
  const failed = order.status === 'FAILED';
  return failed !== isOddNow(order, 'v2-disagrees', viewer) ? 'fail' : 'success';
}

/** Whether this answer is still false by the plan's oddity. Counts the false answers. */
function isOddNow(order: Order, kind: Oddity['kind'], { clock }: Viewer): boolean {
  const { oddity } = order.plan;
  if (oddity?.kind !== kind) return false;
  const sinceMs = kind === 'unknown-status' ? order.createdAtMs : order.finalAtMs;
  if (sinceMs === undefined) return false;
  if (oddity.answers !== undefined && order.oddAnswers >= oddity.answers) return false;
  if (oddity.forMs !== undefined && clock.nowMs() - sinceMs >= oddity.forMs) return false;
  order.oddAnswers += 1;
  return true;
}

function timestamp(atWallMs: number, settings: Settings): number {
  // A simulated clock has fractions of a millisecond.
  return Math.floor(settings.timestampUnit === 's' ? atWallMs / 1000 : atWallMs);
}
