/** Quotes, `/v2/b2b/currents` (the create and the order query) and `/v1/mid-open-api` (the trade queries and the account query). */

import { z } from 'zod';
import { ILLEGAL_PARAM, illegalParam, ORDER_NOT_EXIST, Refusal } from '../http/envelope.ts';
import {
  amount,
  currency,
  type Operation,
  type Outcome,
  optionalText,
  parsedOrNothing,
  type Received,
  readBody,
  text,
  text64,
} from '../http/operation.ts';
import type { JsonObject } from '../json.ts';
import { amountOnWire, type Money, moneyOnWire, rateOnWire } from '../money.ts';
import { type CreateRequest, createOrder, draftOrder } from '../orders/create.ts';
import { type Order, truthOf } from '../orders/order.ts';
import { patched, payoutOrderView, tradeDetailView, tradeResultView } from '../orders/views.ts';
import { sleep } from '../runtime.ts';
import type { Settings } from '../settings.ts';
import { type Lock, priceAt, rateOf } from '../state/quotes.ts';
import type { World } from '../world.ts';

const createBody = z.object({
  instructedAmount: z.object({ currency, amount }),
  exchange: z.object({ originCurrency: currency, targetCurrency: currency }),
  outOrderId: text64.nullish(),
  lockRateId: text.nullish(),
  remittancePurposeCode: text,
  type: z.enum(['WITHDRAW', 'SUPPLIER']),
  platform: optionalText,
  receiver: z.object({
    bankCountry: text,
    bankName: text,
    bankAccountCurrency: currency,
    bankAccountNumber: text,
    bankAccountName: text,
    bankCode: optionalText,
    bankBranchName: optionalText,
    province: optionalText,
    city: optionalText,
    idCardNumber: text,
    cardHoldType: text,
  }),
});

/** How long the answer waits for an early notification to arrive, and how long it waits after that. */
const EARLY_AT_MOST_MS = 2000;
const EARLY_HEAD_START_MS = 50;

export const createCnyOrder: Operation = {
  name: 'createCnyOrder',
  method: 'POST',
  path: '/v2/b2b/currents/createCnyOrder',
  style: 'A',
  auth: 'gateway',
  handle: (received) => outcomeOf(received.world, createOrder(received.world, createRequestOf(received))),
  preview: (received) =>
    payoutOrderView(draftOrder(received.world, createRequestOf(received)).order, received.world),
};

function createRequestOf(received: Received): CreateRequest {
  const body = readBody(received.rawBody, createBody);
  if (body.exchange.targetCurrency !== 'CNY')
    throw new Refusal(ILLEGAL_PARAM, 'illegal param: exchange.targetCurrency');
  const { bankAccountNumber, bankAccountName, bankName } = body.receiver;
  return {
    appId: received.app?.appId ?? '',
    outOrderId: body.outOrderId ?? undefined,
    lockRateId: body.lockRateId ?? undefined,
    request: {
      instructed: { currency: body.instructedAmount.currency, minor: body.instructedAmount.amount },
      ...body.exchange,
    },
    platform: body.platform ?? undefined,
    receiver: { bankAccountNumber, bankAccountName, bankName },
  };
}

function outcomeOf(world: World, order: Order): Outcome {
  const data = patched(order, 'createCnyOrder', payoutOrderView(order, world));
  if (order.plan.notify.mode !== 'early') return { data, created: order };
  return { data, created: order, beforeAnswer: () => notifyEarly(world, order) };
}

async function notifyEarly(world: World, order: Order): Promise<void> {
  const sent = world.notifier.send(truthOf(order), 'early');
  await Promise.race([sent, sleep(world.clock, EARLY_AT_MOST_MS)]);
  await sleep(world.clock, EARLY_HEAD_START_MS);
}

export const queryDetail: Operation = {
  name: 'queryDetail',
  method: 'GET',
  path: '/v2/b2b/currents/queryDetail/:orderId',
  style: 'A',
  auth: 'gateway',
  handle: (received: Received) => {
    const order = received.world.orders.byOrderId(received.params['orderId'] ?? '');
    // Only the trade queries lag: `queryDetail` finds an order by its `orderId` at once.
    if (!order) throw new Refusal(ORDER_NOT_EXIST, 'order not exist');
    return { data: patched(order, 'queryDetail', payoutOrderView(order, received.world)) };
  },
};

const feeBody = z.object({
  instructed_amount: z.object({ currency, amount }),
  exchange: z.object({ origin_currency: currency, target_currency: currency }),
  payer_id: text,
  type: text,
});

export const fee: Operation = {
  name: 'fee',
  method: 'POST',
  path: '/v1/payments/fee',
  style: 'V1',
  auth: 'gateway',
  handle: (received) => {
    const body = readBody(received.rawBody, feeBody);
    const { settings, locks, accounts } = received.world;
    const { origin_currency: originCurrency, target_currency: targetCurrency } = body.exchange;
    const instructed: Money = {
      currency: body.instructed_amount.currency,
      minor: body.instructed_amount.amount,
    };
    const request = { instructed, originCurrency, targetCurrency };
    const rate = rateOf(originCurrency, targetCurrency, settings);
    if (!rate) throw illegalParam('exchange');
    const price = priceAt(rate, request, settings);
    if (!price) throw illegalParam('instructed_amount.currency');
    const lock = locks.lock(body.payer_id, request, price, settings.lockLifetimeMs);
    return { data: quoteView(lock, accounts.available(body.payer_id, originCurrency, settings), settings) };
  },
};

function quoteView(lock: Lock, available: Money, settings: Settings): JsonObject {
  const { price, request } = lock;
  const nothing = moneyOnWire({ currency: price.fee.currency, minor: 0n });
  return {
    lock_rate_id: lock.lockRateId,
    ...shownBalance(available, settings),
    exchange: {
      exchange_rate: rateOnWire(price.rate, settings.shownRate),
      origin_currency: request.originCurrency,
      target_currency: request.targetCurrency,
    },
    pay_money: moneyOnWire(price.pay),
    target_money: moneyOnWire(price.target),
    service_charge: {
      final_fee: moneyOnWire(price.fee),
      cut_fee: nothing,
      fee: moneyOnWire(price.fee),
      fix_fee: nothing,
      less_than_min_payout_fee: nothing,
    },
  };
}

function shownBalance(available: Money, { shownBalance }: Settings): JsonObject {
  if (shownBalance === 'absent') return {};
  if (shownBalance === 'unreadable') return { avail_money: { currency: available.currency, amount: 'n/a' } };
  return { avail_money: moneyOnWire(available) };
}

const tradeKey = z.object({ client_id: text64, partner_order_id: text64 });

export const queryResult: Operation = {
  name: 'queryResult',
  method: 'POST',
  path: '/v1/mid-open-api/trade/payout/queryResult',
  style: 'B',
  auth: 'trade',
  handle: (received) => {
    const { order, clientId } = tradeOf(received);
    const data = tradeResultView(order, clientId, received.world);
    return { data: patched(order, 'queryResult', data) };
  },
};

export const queryPayDetail: Operation = {
  name: 'queryPayDetail',
  method: 'POST',
  path: '/v1/mid-open-api/trade/payout/queryPayDetail',
  style: 'B',
  auth: 'trade',
  handle: (received) => {
    const { order, clientId } = tradeOf(received);
    const data = tradeDetailView(order, clientId, received.world);
    return { data: patched(order, 'queryPayDetail', data) };
  },
};

/** The create names no client, so any `client_id` finds the order unless the settings say otherwise. Answers echo it. */
function tradeOf(received: Received): { order: Order; clientId: string } {
  const key = readBody(received.rawBody, tradeKey);
  const { orders, clock, settings } = received.world;
  const isOfClient = ({ payerId }: Order) =>
    (settings.clientOfPayer[payerId] ?? key.client_id) === key.client_id;
  const order = orders
    .byPartnerOrderId(key.partner_order_id)
    .find((candidate) => candidate.visibleAtMs <= clock.nowMs() && isOfClient(candidate));
  if (!order) throw new Refusal(ORDER_NOT_EXIST, 'order not exist');
  return { order, clientId: key.client_id };
}

const accountBody = z.object({
  client_id: text,
  account_type: optionalText,
  currency: optionalText,
  extra_info: optionalText,
});

export const accountQuery: Operation = {
  name: 'accountQuery',
  method: 'POST',
  path: '/v1/mid-open-api/account/query',
  style: 'B',
  auth: 'trade',
  handle: (received): Outcome => {
    const body = readBody(received.rawBody, accountBody);
    if (body.extra_info && parsedOrNothing(body.extra_info) === undefined) throw illegalParam('extra_info');
    const { accounts, settings } = received.world;
    const list = accounts.of(body.client_id, settings);
    if (list === null) return { data: null };
    const wanted = list
      .filter((account) => !body.account_type || account.accountType === body.account_type)
      .filter((account) => !body.currency || account.currency === body.currency);
    return {
      data: {
        client_id: body.client_id,
        account_info_list: wanted.map((account) => ({
          account_type: account.accountType,
          avail_balance: amountOnWire(account.availableMinor),
          frozen_balance: amountOnWire(account.frozenMinor),
          currency: account.currency,
          account_status: account.status,
        })),
      },
    };
  },
};
