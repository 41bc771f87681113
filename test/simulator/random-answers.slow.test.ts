import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type OrderRecord, randomAnswer, randomRecord } from '../../simulator/index.ts';
import { type AcceptedEnd, acceptedEnd, minorOf, reportedEnd } from './support/accepted-end.ts';
import {
  createBody,
  newPartnerOrderId,
  type Reply,
  SimulatorClient,
  until,
  valueAt,
} from './support/simulator-client.ts';

const seeds = Array.from({ length: 1_000 }, (_, seed) => seed);

describe('randomRecord', () => {
  test('a seed gives the same record, another seed another one', () => {
    expect(randomRecord('queryResult', 7)).toBe(randomRecord('queryResult', 7));
    expect(new Set(seeds.map((seed) => randomRecord('queryResult', seed))).size).toBe(seeds.length);
  });

  test('every trade result conforms to the spec: mandatory fields, lengths, amounts of at most 18 digits', () => {
    for (const seed of seeds) {
      const text = randomRecord('queryResult', seed);
      const record: unknown = JSON.parse(text);
      expect(record).toMatchObject({
        order_id: expect.stringMatching(/^.{1,64}$/u),
        client_id: expect.stringMatching(/^.{1,64}$/u),
        partner_order_id: expect.stringMatching(/^.{1,64}$/u),
        complete_flag: expect.toSatisfy((flag) => [true, false, 'true', 'false'].includes(flag)),
        target_currency: expect.stringMatching(/^[A-Z0-9]{1,3}$/),
        status: expect.stringMatching(/^.{1,16}$/u),
        audit_status: expect.stringMatching(/^.{1,32}$/u),
        create_time: expect.anything(),
      });
      for (const name of ['receive_target_amount', 'failed_target_amount'])
        expect(text).toMatch(new RegExp(`"${name}":"?\\d{1,16}(\\.\\d{1,2})?"?[,}]`));
    }
  });

  test('every case that the spec allows occurs: all statuses, both spellings, text for numbers, the largest amount', () => {
    const results = seeds.map((seed) => randomRecord('queryResult', seed)).join('\n');
    for (const word of ['PROCESSING', 'FAILED', 'SUCCESS', 'PARTIAL_SUCCESS', 'RETURNED', 'DECLINED'])
      expect(results).toContain(`"${word}"`);
    expect(results).toContain(':9999999999999999.99');
    expect(results).toContain(':"9999999999999999.99"');
    expect(results).toContain('"create_time":""');
    const quotes = seeds.map((seed) => randomRecord('fee', seed)).join('\n');
    expect(quotes).toContain('"lock_fee_id":"');
    expect(quotes).toContain('"lock_fee_id":null');
    const details = seeds.map((seed) => randomRecord('queryPayDetail', seed));
    for (const shape of [/"pay_distribute_detail":\[\{/, /"pay_distribute_detail":\{"/, /_detail":null/])
      expect(details.filter((text) => shape.test(text))).not.toEqual([]);
    expect(details.filter((text) => !text.includes('pay_distribute_detail'))).not.toEqual([]);
    const orders = seeds.map((seed) => randomRecord('queryDetail', seed)).join('\n');
    expect(orders).toContain('"outOrderId":null');
    expect(orders).toContain('"outOrderId":"');
  });
});

describe('randomAnswer', () => {
  test.each([
    'oauthToken',
    'token',
    'receivingAccountCreate',
    'receivingAccountBalance',
    'receivingAccountDetail',
    'fee',
    'createCnyOrder',
    'queryDetail',
    'queryResult',
    'queryPayDetail',
    'accountQuery',
  ] as const)('%s: every documented code, as number and as text, and undocumented codes', (operation) => {
    const codes = new Set(
      seeds.map((seed) => valueAt(JSON.parse(randomAnswer(operation, seed).body), 'code')),
    );
    for (const code of [429, 900000, 900002, 900004, 401, 403]) {
      expect(codes).toContain(code);
      expect(codes).toContain(String(code));
    }
    expect(codes.size).toBeGreaterThan(40);
  });

  test('changes a few places of a true record, and keeps the rest', () => {
    const truth = { order_id: 'o', client_id: 'c', partner_order_id: 'p', status: 'SUCCESS', x: 1 };
    const answers = seeds.map((seed) => randomAnswer('queryResult', seed, { truth: JSON.stringify(truth) }));
    const changed = answers.filter(({ sort }) => sort === 'changed').map(({ body }) => JSON.parse(body).data);
    expect(changed.length).toBeGreaterThan(100);
    for (const data of changed) {
      const kept = Object.entries(truth).filter(([name, value]) => data[name] === value);
      expect(kept.length).toBeGreaterThanOrEqual(2);
      expect(data.x).toBe(1);
    }
    expect(changed.filter((data) => data.status !== 'SUCCESS').length).toBeGreaterThan(10);
  });

  test('invents a consistent end when it knows the amounts', () => {
    const money = (amount: string) => ({ currency: 'CNY', amount });
    const terms = { target: money('9999999999999999.99'), pay: money('2.00'), fee: money('1.00') };
    const answers = seeds.map((seed) => randomAnswer('queryPayDetail', seed, { terms }));
    const ends = answers.filter(({ sort }) => sort === 'as-if-ended');
    expect(
      ends.filter(({ body }) => body.includes('"receive_target_amount":9999999999999999.99')),
    ).not.toEqual([]);
    expect(ends.every(({ body }) => body.includes('"complete_flag":true'))).toBe(true);
  });
});

describe('the fault random-answer', () => {
  let service: SimulatorClient;
  beforeAll(async () => {
    service = await SimulatorClient.start();
  });
  beforeEach(() => service.control.reset());
  afterAll(() => service.close());

  function falsifyTrades(seed: number, probability: number): void {
    for (const operation of ['queryResult', 'queryPayDetail'] as const)
      service.control.addFault({
        id: operation,
        operation,
        seed,
        probability,
        fault: { kind: 'random-answer' },
      });
  }

  test('a seed gives the same false answers for the same orders, whatever else is queried meanwhile', async () => {
    const sortsWith = async (seed: number, noise: number) => {
      service.control.reset();
      service.control.addFault({ operation: 'queryResult', seed, fault: { kind: 'random-answer' } });
      for (let index = 0; index < 30; index += 1) {
        await service.result('mine');
        for (let more = 0; more < noise; more += 1) await service.result(`other-${more}`);
      }
      return service.control.calls({ partnerOrderId: 'mine' }).map(({ fault }) => fault);
    };
    const first = await sortsWith(5, 0);
    expect(await sortsWith(5, 2)).toEqual(first);
    expect(await sortsWith(6, 0)).not.toEqual(first);
    expect(first).toContain('random-answer invented');
  });

  test.each([
    ['commit', 1],
    ['none', 0],
  ] as const)('with effect %s, a create leaves %d debits, whatever it answers', async (effect, debits) => {
    for (let seed = 0; seed < 60; seed += 1) {
      const number = newPartnerOrderId();
      service.control.addFault({
        id: 'lie',
        operation: 'createCnyOrder',
        seed,
        fault: { kind: 'random-answer', effect },
      });
      await service.pay(number, 'slow');
      expect(service.control.ledgerOf(number).debits).toBe(debits);
    }
    const accounts = await service.post('/v1/mid-open-api/account/query', { client_id: 'payer-1' });
    const untouched = accounts.text.includes(
      '"avail_balance":9999999999999999.99,"frozen_balance":0.00,"currency":"USD"',
    );
    expect(untouched).toBe(effect === 'none');
  });

  test('a create without effect may return the order that would have been made, and its lock stays usable', async () => {
    const lockRateId = await service.lock();
    let pretended: Reply | undefined;
    for (let seed = 0; seed < 100 && !pretended; seed += 1) {
      service.control.addFault({
        id: 'lie',
        operation: 'createCnyOrder',
        seed,
        fault: { kind: 'random-answer', effect: 'none' },
      });
      const reply = await service.create({ ...createBody('p-pretended'), lockRateId });
      const isOrder = valueAt(reply.json, 'data.receiver.outOrderId') === 'p-pretended';
      if (isOrder && valueAt(reply.json, 'data.lockRateId') === lockRateId) pretended = reply;
    }
    expect(valueAt(pretended?.json, 'data.orderId')).toMatch(/^PO/);
    service.control.removeFaults();
    expect((await service.create({ ...createBody('p-true'), lockRateId })).json).toMatchObject({ code: 0 });
  });

  test('a committed create is never answered with a code that means "not created"', async () => {
    const { lockExpiredCode, insufficientCode, repeatedCode, lockMismatchCode, accountNotUsableCode } =
      service.control.changeSettings({ lockExpiredCode: 429_001, insufficientCode: 900_000 });
    // Seed and outOrderId determine the draw, so that it is the same in each run.
    service.control.addFault({
      ...{ operation: 'createCnyOrder', seed: 1 },
      fault: { kind: 'random-answer', effect: 'commit' },
    });
    const codes = new Set<number>();
    for (let count = 0; count < 150; count += 1)
      codes.add(Number(valueAt((await service.pay(`committed-${count}`, 'slow')).json, 'code')));
    for (const stated of [
      lockExpiredCode,
      insufficientCode,
      repeatedCode,
      lockMismatchCode,
      accountNotUsableCode,
    ])
      expect(codes).not.toContain(stated);
    // Without the rule it would have been drawn.
    expect(codes).toContain(900_002);
  });

  test.each([
    ['unanswered, after the lag', 'drop-after', 0, false],
    ['unanswered, within the lag', 'drop-after', 60_000, true],
    ['answered', undefined, 0, true],
  ] as const)('"order not exist" for an order whose create was %s', async (_, fault, denyMs, isDenied) => {
    // Seed and outOrderId determine the draw, so that it is the same in each run.
    const number = `denied-${fault ?? 'answered'}-${denyMs}`;
    if (fault) service.control.addFault({ operation: 'createCnyOrder', times: 1, fault: { kind: fault } });
    await service.pay(number, 'slow').catch(() => undefined);
    service.control.addFault({ operation: 'queryResult', seed: 1, fault: { kind: 'random-answer', denyMs } });
    const codes = new Set<number>();
    for (let count = 0; count < 200; count += 1) {
      const { status, json } = await service.result(number);
      codes.add(status === 404 ? 900_004 : Number(valueAt(json, 'code')));
    }
    expect(codes.has(900_004)).toBe(isDenied);
    expect(codes).toContain(900_002);
  });

  test.each([
    'success final=0ms',
    'failure final=0ms',
    'failure detail=none final=0ms',
    'partial final=0ms',
    'stuck',
  ])(
    '%s: a client that compares answers never sees a false end, and one that does not compare does',
    async (scenario) => {
      let fooled = 0;
      for (let count = 0; count < 4; count += 1) {
        const number = newPartnerOrderId();
        await service.pay(number, scenario);
        const [order] = service.control.ledgerOf(number).orders;
        if (!order) throw new Error('there is no order');
        falsifyTrades(count, 0.8);
        const results = await repeat(100, () => service.result(number));
        const details = await repeat(100, () => service.detail(number));
        for (const end of acceptedEnds(results, details, number, order.target.amount))
          expect(end).toEqual(endIn(order));
        const ends = results.flatMap(({ json }) => reportedEnd(json, number) ?? []);
        fooled += ends.filter(({ status }) => status !== order.status).length;
      }
      expect(fooled).toBeGreaterThan(0);
    },
  );

  test('the two trade queries never both report the end of an order that does not exist', async () => {
    falsifyTrades(1, 1);
    let claimed = 0;
    for (let count = 0; count < 10; count += 1) {
      const number = newPartnerOrderId();
      const results = await repeat(80, () => service.result(number));
      const details = await repeat(80, () => service.detail(number));
      expect(acceptedEnds(results, details, number)).toEqual([]);
      claimed += results.filter(({ json }) => reportedEnd(json, number)).length;
    }
    expect(claimed).toBeGreaterThan(0);
  });

  test('error answers may contain Retry-After', async () => {
    service.control.addFault({ fault: { kind: 'random-answer' } });
    await until(async () => (await service.result(newPartnerOrderId())).headers['retry-after'] || undefined);
  });
});

function endIn({ status, orderId, splits }: OrderRecord): AcceptedEnd {
  const lines = splits.map(
    (split) => `${split.distributeId} ${split.status} ${minorOf(split.target.amount)} ${split.refunded}`,
  );
  return { status, orderId, splits: lines.sort() };
}

function acceptedEnds(results: Reply[], details: Reply[], number: string, target?: string): AcceptedEnd[] {
  const told = (replies: Reply[]) => replies.flatMap(({ json }) => reportedEnd(json, number) ?? []);
  const ofDetails = told(details);
  return told(results).flatMap((result) =>
    ofDetails.flatMap((detail) => acceptedEnd(result, detail, target) ?? []),
  );
}

async function repeat<T>(times: number, act: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let count = 0; count < times; count += 1) made.push(await act());
  return made;
}
