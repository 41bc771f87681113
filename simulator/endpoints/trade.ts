/** `/v1/mid-open-api`: the trade queries and the account query. */
import { z } from 'zod';
import { illegalParam, ORDER_NOT_EXIST, Refusal } from '../http/envelope.ts';
import type { Operation, Outcome, Received } from '../http/operation.ts';
import { optionalText, parsedOrNothing, readBody, text, text64 } from '../http/validation.ts';
import { amountOnWire } from '../money.ts';
import type { Order } from '../orders/order.ts';
import { patched, tradeDetailView, tradeResultView } from '../orders/views.ts';

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
