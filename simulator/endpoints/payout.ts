/** `/v2/b2b/currents`: the create and the order query. */
import { z } from 'zod';
import { ILLEGAL_PARAM, ORDER_NOT_EXIST, Refusal } from '../http/envelope.ts';
import type { Operation, Outcome, Received } from '../http/operation.ts';
import { amount, currency, optionalText, readBody, text, text64 } from '../http/validation.ts';
import { type CreateRequest, createOrder, draftOrder } from '../orders/create.ts';
import type { Order } from '../orders/order.ts';
import { patched, payoutOrderView } from '../orders/views.ts';
import { sleep } from '../runtime.ts';
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
  const sent = world.notifier.send(world.notifier.truth(order), 'early');
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
