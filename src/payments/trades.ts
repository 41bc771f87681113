/** Spec: Query payout trade result, and Query payout trade detail. */

import type { TradeDetail, TradeKey, TradeResult } from '../domain/provider-records.ts';
import { checked } from './checked.ts';
import type { CallOptions } from './options.ts';
import type { RequestSender } from './request.ts';
import { tradeKey } from './wire/requests.ts';
import { tradeDetailAnswer, tradeKeyBody, tradeResultAnswer } from './wire/trade.ts';

const TRADE_PATH = '/v1/mid-open-api/trade/payout';

/** `OrderNotExistError` does not prove that there is no order: the provider's reads may lag (H2). */
export async function tradeResult(
  sender: RequestSender,
  key: TradeKey,
  options?: CallOptions,
): Promise<TradeResult> {
  const asked = checked('tradeResult', tradeKey, key);
  const call = {
    target: { path: `${TRADE_PATH}/queryResult` },
    body: tradeKeyBody(asked),
    mismatch: mismatchOf(asked),
  };
  return sender.send({ operation: 'tradeResult', schema: tradeResultAnswer, ...call }, options);
}

export async function tradeDetail(
  sender: RequestSender,
  key: TradeKey,
  options?: CallOptions,
): Promise<TradeDetail> {
  const asked = checked('tradeDetail', tradeKey, key);
  const call = {
    target: { path: `${TRADE_PATH}/queryPayDetail` },
    body: tradeKeyBody(asked),
    mismatch: mismatchOf(asked),
  };
  return sender.send({ operation: 'tradeDetail', schema: tradeDetailAnswer, ...call }, options);
}

/** An answer about another trade or client is not accepted (H15). */
function mismatchOf(asked: TradeKey): (answer: TradeKey) => string | undefined {
  return (answer) => {
    if (answer.clientId !== asked.clientId) return 'client_id';
    return answer.partnerOrderId === asked.partnerOrderId ? undefined : 'partner_order_id';
  };
}
