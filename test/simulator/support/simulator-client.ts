/** A simulator on a real socket, with the calls that nearly every test makes. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../simulator/index.ts';

export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** Undefined when the text is not JSON. */
  json: unknown;
}

export interface CallOptions {
  body?: unknown;
  rawBody?: string;
  headers?: Record<string, string>;
  /** Replaces the application token; empty: no header. */
  authorization?: string;
}

export class SimulatorClient {
  readonly simulator: Simulator;
  readonly #agent = new Agent({ connections: 50 });
  #token = '';

  constructor(simulator: Simulator) {
    this.simulator = simulator;
  }

  static async start(options: SimulatorOptions = {}): Promise<SimulatorClient> {
    const settings = { callsPerSecond: 1000, finalAfterMs: 20, ...options.settings };
    const service = new SimulatorClient(await startSimulator({ ...options, settings }));
    const answer = await service.get('/v2/token/get?app_id=demo-app&app_secret=demo-secret', {
      authorization: '',
    });
    service.#token = textAt(answer.json, 'data.access_token');
    service.control.reset();
    return service;
  }

  get control() {
    return this.simulator.control;
  }

  get token(): string {
    return this.#token;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
    await this.simulator.close();
  }

  get(path: string, options: CallOptions = {}): Promise<Reply> {
    return this.call('GET', path, options);
  }

  post(path: string, body: unknown, options: CallOptions = {}): Promise<Reply> {
    return this.call('POST', path, { ...options, body });
  }

  async call(method: 'GET' | 'POST', path: string, options: CallOptions): Promise<Reply> {
    const authorization = options.authorization ?? `Bearer ${this.#token}`;
    const body = options.rawBody ?? (options.body === undefined ? null : JSON.stringify(options.body));
    const answer = await request(`${this.simulator.url}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...(authorization === '' ? {} : { authorization }),
        ...options.headers,
      },
      body,
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, headers: answer.headers, text, json: jsonOrNothing(text) };
  }

  quote(change: object = {}): Promise<Reply> {
    return this.post('/v1/payments/fee', { ...feeBody(), ...change });
  }

  async lock(change: object = {}): Promise<string> {
    return textAt((await this.quote(change)).json, 'data.lock_rate_id');
  }

  create(body: object): Promise<Reply> {
    return this.post('/v2/b2b/currents/createCnyOrder', body);
  }

  /** Quotes and creates. Returns the reply to the create. */
  async pay(partnerOrderId: string, scenario = 'success', change: object = {}): Promise<Reply> {
    const lockRateId = await this.lock();
    return this.create({
      ...createBody(partnerOrderId),
      lockRateId,
      platform: `sim:${scenario}`,
      ...change,
    });
  }

  result(partnerOrderId: string, clientId = 'client-1'): Promise<Reply> {
    return this.post('/v1/mid-open-api/trade/payout/queryResult', {
      client_id: clientId,
      partner_order_id: partnerOrderId,
    });
  }

  detail(partnerOrderId: string): Promise<Reply> {
    return this.post('/v1/mid-open-api/trade/payout/queryPayDetail', {
      client_id: 'client-1',
      partner_order_id: partnerOrderId,
    });
  }

  order(orderId: string): Promise<Reply> {
    return this.get(`/v2/b2b/currents/queryDetail/${orderId}`);
  }

  /** Queries until the trade has this status. */
  async untilStatus(partnerOrderId: string, status: string): Promise<Reply> {
    return until(async () => {
      const reply = await this.result(partnerOrderId);
      return valueAt(reply.json, 'data.status') === status ? reply : undefined;
    });
  }
}

export function feeBody() {
  return {
    instructed_amount: { currency: 'CNY', amount: 712.34 },
    exchange: { origin_currency: 'USD', target_currency: 'CNY' },
    payer_id: 'payer-1',
    type: 'WITHDRAW',
  };
}

export function createBody(outOrderId: string) {
  return {
    instructedAmount: { currency: 'CNY', amount: 712.34 },
    exchange: { originCurrency: 'USD', targetCurrency: 'CNY' },
    outOrderId,
    remittancePurposeCode: 'GOODS',
    type: 'WITHDRAW',
    receiver: {
      bankCountry: 'CN',
      bankName: 'Bank of Tests',
      bankAccountCurrency: 'CNY',
      bankAccountNumber: '6222000000000001',
      bankAccountName: 'Li Lei',
      idCardNumber: '110101199001011234',
      cardHoldType: 'Personal',
    },
  };
}

export function newPartnerOrderId(): string {
  return `p-${randomUUID()}`;
}

/** Tries again until `look` returns a value. Only the test's own timeout limits it. */
export async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await sleep(10);
  }
}

export function valueAt(json: unknown, path: string): unknown {
  let value = json;
  for (const key of path.split('.'))
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return value;
}

export function textAt(json: unknown, path: string): string {
  const value = valueAt(json, path);
  if (typeof value !== 'string') throw new Error(`${path} is no text in ${JSON.stringify(json)}`);
  return value;
}

function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
