import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../simulator/faults/rules.ts';
import type { FaultInput } from '../../simulator/index.ts';
import { standingClock } from '../support/standing-clock.ts';
import {
  createBody,
  newPartnerOrderId,
  SimulatorClient,
  until,
  valueAt,
} from './support/simulator-client.ts';

describe('faults', () => {
  let service: SimulatorClient;
  beforeAll(async () => {
    service = await SimulatorClient.start();
  });
  beforeEach(() => service.control.reset());
  afterAll(() => service.close());

  /** Pays once under a fresh outOrderId with `fault` in force for it. */
  async function payWith(fault: FaultInput) {
    const number = newPartnerOrderId();
    const lockRateId = await service.lock();
    service.control.addFault({ operation: 'createCnyOrder', partnerOrderId: number, times: 1, fault });
    const body = { ...createBody(number), lockRateId };
    const reply = await service.create(body).catch((error: unknown) => error);
    return { number, reply, ledger: service.control.ledgerOf(number) };
  }

  test('drop-before: the socket closes, nothing is paid, and the ledger has the request body', async () => {
    const { reply, ledger, number } = await payWith({ kind: 'drop-before' });
    expect(reply).toBeInstanceOf(Error);
    expect(ledger).toMatchObject({
      debits: 0,
      orders: [],
      creates: [{ effect: 'dropped', answered: 'dropped', body: expect.stringContaining(number) }],
    });
    expect(service.control.calls({ partnerOrderId: number })).toMatchObject([
      { status: 'dropped', fault: 'drop-before' },
    ]);
  });

  test('drop-after: the socket closes, and the payment was made', async () => {
    const { reply, ledger, number } = await payWith({ kind: 'drop-after' });
    expect(reply).toBeInstanceOf(Error);
    expect(ledger).toMatchObject({ debits: 1, creates: [{ effect: 'committed', answered: 'dropped' }] });
    expect(ledger.creates[0]?.orderId).toBe(ledger.orders[0]?.orderId);
    expect((await service.result(number)).json).toMatchObject({ code: 200 });
  });

  test.each([
    [{ kind: 'status', status: 503, body: '{"x":1}' }, { status: 503, text: '{"x":1}' }, 0],
    [{ kind: 'status', status: 500, effect: 'commit' }, { status: 500, text: '' }, 1],
    [{ kind: 'status', status: 500, effect: 'after' }, { status: 500 }, 1],
    [{ kind: 'status', status: 500, effect: 'before' }, { status: 500 }, 0],
    [{ kind: 'envelope', code: 900000 }, { status: 200, json: { code: 900000, data: null } }, 0],
    [
      { kind: 'envelope', code: '30077', message: 'odd', effect: 'commit' },
      { json: { code: '30077', message: 'odd' } },
      1,
    ],
    [{ kind: 'status', status: 429, retryAfter: 45 }, { status: 429, headers: { 'retry-after': '45' } }, 0],
    [
      { kind: 'envelope', code: 429, retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' },
      { status: 200, headers: { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' } },
      0,
    ],
    [{ kind: 'garbage' }, { status: 200, json: undefined }, 1],
    [{ kind: 'html-502' }, { status: 502, text: expect.stringMatching(/^<html>/) }, 0],
    [{ kind: 'data-null' }, { status: 200, json: { code: 0, message: 'OK', data: null } }, 1],
    [
      { kind: 'redirect-307', location: 'http://127.0.0.1:9/x' },
      { status: 307, headers: { location: 'http://127.0.0.1:9/x' } },
      0,
    ],
    [{ kind: 'latency', ms: 20 }, { status: 200, json: { code: 0 } }, 1],
    [{ kind: 'latency', ms: 20, effect: 'before' }, { status: 200, json: { code: 0 } }, 1],
    [{ kind: 'slow-body', ms: 20 }, { status: 200, json: { code: 0 } }, 1],
  ] as const)('%j answers %j and leaves %d debits', async (fault, answer, debits) => {
    const { reply, ledger } = await payWith(fault);
    expect(reply).toMatchObject(answer);
    expect(ledger.debits).toBe(debits);
    expect(ledger.creates).toMatchObject([{ effect: debits === 1 ? 'committed' : 'dropped' }]);
  });

  test.each([
    ['a lock that is always expired', { kind: 'envelope', code: 30001 }, { json: { code: 30001 } }],
    ['always busy', { kind: 'status', status: 429 }, { status: 429 }],
  ] as const)('%s: a rule without an end', async (_, fault, answer) => {
    service.control.addFault({ operation: 'createCnyOrder', fault });
    for (let count = 0; count < 30; count += 1)
      expect(await service.pay(newPartnerOrderId())).toMatchObject(answer);
    expect(service.control.counts()).toMatchObject({ creates: 30, orders: 0 });
  });

  test.each(OPERATIONS)('%s can be answered with 900002', async (operation) => {
    service.control.addFault({ operation, fault: { kind: 'envelope', code: 900002 } });
    const replies = [
      await service.post('/v3/b2b/oauth/token', {}),
      await service.get('/v2/token/get'),
      await service.get('/v2/httpbin/get'),
      await service.post('/v1/accounts/receiving-account', { payer_id: 'p', currency: 'USD' }),
      await service.get('/v1/accounts/receiving-account/p/USD'),
      await service.get('/v1/payments/receving-account/a'),
      await service.quote(),
      await service.create(createBody(newPartnerOrderId())),
      await service.order('o'),
      await service.result('p'),
      await service.detail('p'),
      await service.post('/v1/mid-open-api/account/query', { client_id: 'c' }),
    ];
    const hit = replies.map(({ json }) => valueAt(json, 'message') === 'simulated');
    expect(hit.indexOf(true)).toBe(OPERATIONS.indexOf(operation));
    expect(replies[hit.indexOf(true)]?.json).toMatchObject({ code: 900002, data: null });
  });

  test.each([
    ['bad-byte', 'account \ufffdclosed'],
    ['control', 'account\u0000\u0085\r\nphase  DONE\u2028closed'],
    ['escape', '\u001b[2J\u001b]0;PAID\u0007account closed\u009b1A'],
    ['surrogate', 'account \ud83d closed'],
    ['bidi', 'returned \u202e00.001\u202c of \u206600.1\u2069'],
  ] as const)('odd-text: the answers are true, and their descriptions have a %s', async (text, shown) => {
    const number = newPartnerOrderId();
    await service.pay(number, 'failure');
    await service.untilStatus(number, 'FAILED');
    service.control.addFault({ fault: { kind: 'odd-text', text } });
    const { json } = await service.result(number);
    expect(json).toMatchObject({ code: 200, data: { status: 'FAILED', error_msg: shown } });
    const splits = [{ status: 'FAILED', error_msg: shown, refund_reason: shown }];
    expect((await service.detail(number)).json).toMatchObject({ data: { pay_distribute_detail: splits } });
    const order = await service.order(String(valueAt(json, 'data.order_id')));
    expect(order.json).toMatchObject({ data: { failReason: shown, remark: shown } });
  });

  test('cut-body: the payment was made, and the answer ends in the middle', async () => {
    const { reply, ledger } = await payWith({ kind: 'cut-body' });
    expect(reply).toBeInstanceOf(Error);
    expect(ledger.debits).toBe(1);
  });

  test('cut-body: half of the announced body arrives', async () => {
    service.control.addFault({ operation: 'httpbin', fault: { kind: 'cut-body' } });
    const seen = await rawGet(service, '/v2/httpbin/get');
    const length = Number(/content-length: (\d+)/.exec(seen)?.[1]);
    expect(seen.split('\r\n\r\n')[1]?.length).toBe(Math.floor(length / 2));
  });

  test('rate-limited-but-executes: answers 429, pays nevertheless, and shows the order late', async () => {
    const clock = standingClock();
    const { reply, ledger, number } = await payWith({ kind: 'rate-limited-but-executes', showAfterMs: 300 });
    expect(reply).toMatchObject({ status: 429, json: { code: 429 } });
    expect(ledger.debits).toBe(1);
    expect(service.control.counts()).toMatchObject({ answered429: 1, rejected: 0 });
    clock.advance(299);
    expect((await service.result(number)).json).toMatchObject({ code: 900004 });
    clock.advance(1);
    expect((await service.result(number)).json).toMatchObject({ code: 200 });
  });

  test.each([
    ['before', 0],
    ['after', 1],
  ] as const)(
    'hold-until-released %s the effect: %d debits while held, one afterwards',
    async (effect, held) => {
      const number = newPartnerOrderId();
      const lockRateId = await service.lock();
      const { id } = service.control.addFault({
        operation: 'createCnyOrder',
        fault: { kind: 'hold-until-released', effect },
      });
      const reply = service.create({ ...createBody(number), lockRateId });
      await until(() => service.control.faults()[0]?.held === 1 || undefined);
      expect(service.control.ledgerOf(number).debits).toBe(held);
      expect(service.control.calls({ operation: 'createCnyOrder' })).toMatchObject([{ status: null }]);
      expect(service.control.releaseFault(id)).toEqual({ released: 1 });
      expect((await reply).json).toMatchObject({ code: 0 });
      expect(service.control.ledgerOf(number).debits).toBe(1);
    },
  );

  test('a held request takes effect on release although its sender is gone', async () => {
    const number = newPartnerOrderId();
    const lockRateId = await service.lock();
    const { id } = service.control.addFault({ fault: { kind: 'hold-until-released' } });
    const body = JSON.stringify({ ...createBody(number), lockRateId });
    const { port } = new URL(service.simulator.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `POST /v2/b2b/currents/createCnyOrder HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await until(() => service.control.faults()[0]?.held === 1 || undefined);
    socket.destroy();
    service.control.releaseFault(id);
    await until(() => service.control.ledgerOf(number).debits === 1 || undefined);
  });

  test('skip lets requests pass first, times ends the rule, removal ends it at once', async () => {
    const { id } = service.control.addFault({
      operation: 'queryResult',
      skip: 1,
      times: 2,
      fault: { kind: 'status', status: 500 },
    });
    const statuses: number[] = [];
    for (let index = 0; index < 4; index += 1) statuses.push((await service.result('none')).status);
    expect(statuses).toEqual([200, 500, 500, 200]);
    expect(service.control.faults()).toMatchObject([{ id, hit: 2 }]);
    service.control.removeFault(id);
    expect(service.control.faults()).toEqual([]);
    expect(() => service.control.releaseFault(id)).toThrow(/no fault/);
  });

  test('a rule matches only its operation and its outOrderId', async () => {
    service.control.addFault({
      operation: 'queryResult',
      partnerOrderId: 'mine',
      fault: { kind: 'status', status: 500 },
    });
    const replies = [
      await service.result('mine'),
      await service.result('yours'),
      await service.detail('mine'),
    ];
    expect(replies.map((reply) => reply.status)).toEqual([500, 200, 200]);
  });

  test('an order query is matched by the outOrderId of its order', async () => {
    const number = newPartnerOrderId();
    const created = await service.pay(number);
    service.control.addFault({
      operation: 'queryDetail',
      partnerOrderId: number,
      fault: { kind: 'status', status: 500 },
    });
    expect((await service.order(String(valueAt(created.json, 'data.orderId')))).status).toBe(500);
  });

  test('the same seed gives the same faults, another seed gives others', async () => {
    const run = async (seed: number) => {
      service.control.removeFaults();
      service.control.addFault({
        seed,
        probability: 0.5,
        kinds: [{ kind: 'html-502' }, { kind: 'envelope', code: 900000 }, { kind: 'status', status: 500 }],
      });
      const seen: string[] = [];
      for (let index = 0; index < 40; index += 1) {
        const { status, json } = await service.result('none');
        seen.push(`${status}/${valueAt(json, 'code')}`);
      }
      return seen;
    };
    const [first, again, other] = [await run(7), await run(7), await run(8)];
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    expect(new Set(first)).toEqual(new Set(['200/900004', '502/undefined', '200/900000', '500/undefined']));
  });

  test.each([
    {},
    { fault: { kind: 'explode' } },
    { operation: 'nothing', fault: { kind: 'garbage' } },
    { fault: { kind: 'garbage' }, kinds: [{ kind: 'garbage' }] },
  ])('rejects the rule %j', async (rule) => {
    expect((await service.post('/_sim/faults', rule)).status).toBe(400);
  });
});

/** Everything that comes back on a bare socket, complete or cut. */
async function rawGet(service: SimulatorClient, path: string): Promise<string> {
  const { port } = new URL(service.simulator.url);
  const socket = connect(Number(port), '127.0.0.1');
  let seen = '';
  let ended = false;
  socket.on('data', (chunk) => {
    seen += chunk.toString();
  });
  for (const event of ['close', 'error'])
    socket.on(event, () => {
      ended = true;
    });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.token}\r\n\r\n`);
  while (!ended) await sleep(5);
  return seen;
}
