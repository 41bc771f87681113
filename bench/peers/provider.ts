/** The provider's API as every peer calls it: one HTTP request per function, and an error for every other response. */
import { z } from 'zod';
import { settings } from './settings.ts';

export interface Payout {
  id: string;
  /** Of the simulator. */
  scenario: string;
}

/** The lock is too old for a create call: the job needs a new quote. */
export class LockExpired extends Error {
  override readonly name = 'LockExpired';
}

export interface Order {
  orderId: string;
  /** Undefined until the provider has ended the order. */
  end: string | undefined;
}

const LOCK_EXPIRED = 30001;
const ORDER_NOT_EXIST = 900004;
const FINAL = ['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'];

const envelope = z.object({
  code: z.union([z.number(), z.string()]),
  message: z.string(),
  data: z.unknown(),
});
const quoted = z.object({ lock_rate_id: z.string() });
const created = z.object({ orderId: z.string() });
const result = z.object({ order_id: z.string(), status: z.string(), complete_flag: z.boolean() });
const detailed = z.object({ status: z.string() });
const granted = z.object({ access_token: z.string() });

/** Returns the lock. */
export async function quote({ id }: Payout): Promise<string> {
  const body = {
    instructed_amount: { currency: 'CNY', amount: 100 },
    exchange: { origin_currency: 'USD', target_currency: 'CNY' },
    payer_id: `payer-${id}`,
    type: 'WITHDRAW',
  };
  return quoted.parse(await call('/v1/payments/fee', body)).lock_rate_id;
}

/** Returns the `orderId`. Sent again, it may pay again. Throws `LockExpired`. */
export async function create({ id, scenario }: Payout, lockRateId: string): Promise<string> {
  const body = {
    instructedAmount: { currency: 'CNY', amount: 100 },
    exchange: { originCurrency: 'USD', targetCurrency: 'CNY' },
    outOrderId: id,
    lockRateId,
    remittancePurposeCode: 'GOODS',
    type: 'WITHDRAW',
    platform: `sim:${scenario}`,
    receiver: {
      bankCountry: 'CN',
      bankName: 'Example Bank',
      bankAccountCurrency: 'CNY',
      bankAccountNumber: '6222020000000000',
      bankAccountName: 'Bench',
      idCardNumber: '110101199003070000',
      cardHoldType: 'Personal',
    },
  };
  return created.parse(await call('/v2/b2b/currents/createCnyOrder', body)).orderId;
}

/** The create call of a step that may have run before: the guides ask for an idempotent step, so it looks first. */
export async function createOnce(payout: Payout, lockRateId: string): Promise<string> {
  return (await order(payout))?.orderId ?? create(payout, lockRateId);
}

/** Undefined: the provider knows no order of this payout. */
export async function order({ id }: Payout): Promise<Order | undefined> {
  const data = await call('/v1/mid-open-api/trade/payout/queryResult', tradeKey(id));
  if (data === undefined) return undefined;
  const { order_id: orderId, status, complete_flag: isComplete } = result.parse(data);
  return { orderId, end: isComplete && FINAL.includes(status) ? status : undefined };
}

/** Returns the status, once the provider has ended the order. */
export async function detail({ id }: Payout): Promise<string> {
  return detailed.parse(await call('/v1/mid-open-api/trade/payout/queryPayDetail', tradeKey(id))).status;
}

function tradeKey(id: string) {
  return { client_id: 'client-1', partner_order_id: id };
}

let token: Promise<string> | undefined;

/** One token for each process: it outlives the benchmark. */
function accessToken(): Promise<string> {
  token ??= fetchToken().catch((error: unknown) => {
    token = undefined;
    throw error;
  });
  return token;
}

async function fetchToken(): Promise<string> {
  const query = `app_id=${settings.APP_ID}&app_secret=${settings.APP_SECRET}`;
  const response = await fetch(`${settings.PROVIDER_URL}/v2/token/get?${query}`);
  return granted.parse(envelope.parse(await response.json()).data).access_token;
}

/** The data of the response; undefined if the order does not exist. */
async function call(path: string, body: object): Promise<unknown> {
  const authorization = `Bearer ${await accessToken()}`;
  const response = await fetch(`${settings.PROVIDER_URL}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(settings.CALL_TIMEOUT_MS),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: HTTP ${response.status}`);
  const { code, message, data } = envelope.parse(JSON.parse(text));
  if (code === LOCK_EXPIRED) throw new LockExpired(message);
  if (code === ORDER_NOT_EXIST) return undefined;
  if (code !== 0 && code !== 200) throw new Error(`${path}: ${code} ${message}`);
  return data;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
