import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalizeAmount } from '../../src/contract/money.ts';
import { readExactJson, writeExactJson } from '../../src/payments/exact-json.ts';
import { quoteBody } from '../../src/payments/wire/requests.ts';
import { amount, rate } from '../../src/payments/wire/scalars.ts';
import { clientFor, failureOf } from './support/client.ts';
import { CREATE, callOf, QUOTE, successBody } from './support/samples.ts';
import { answers, startServer } from './support/server.ts';

const ROUND_TRIPS = 20_000;
const BIG = ['9999999999999999.99', '9007199254740993.01', '0.01', '1234567890123456.78'];

const digits = fc
  .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 16 })
  .map((d) => d.join(''));
const amounts = fc
  .tuple(digits, fc.integer({ min: 0, max: 99 }))
  .map(([whole, cents]) => normalizeAmount(`${whole}.${String(cents).padStart(2, '0')}`))
  .filter((text) => /[1-9]/.test(text));

describe('H14 money is exact on the wire', () => {
  test('H14 every amount round-trips through JSON', () => {
    const roundTrip = (text: string) => {
      const bytes = writeExactJson(
        quoteBody({ ...QUOTE, instructedAmount: { currency: 'CNY', amount: text } }),
      );
      expect(bytes.toString()).toContain(`"amount":${text}}`);
      expect(parsedAmount(`{"a":${text}}`)).toBe(text);
      expect(parsedAmount(`{"a":"${text}"}`)).toBe(text);
    };
    fc.assert(fc.property(amounts, roundTrip), { numRuns: ROUND_TRIPS, examples: BIG.map((text) => [text]) });
  });

  test('H14 amounts round-trip through real sockets as JSON numbers', async () => {
    const server = await startServer((request, response) => {
      const sent = /"amount":([\d.]+)/.exec(request.body)?.[1];
      response.end(successBody('createPayout').replace('"amount":700.00', `"amount":${sent}`));
    });
    const client = clientFor(server.origin);
    const roundTrip = async (text: string) => {
      const instructedAmount = { currency: 'CNY', amount: text };
      expect((await client.createPayout({ ...CREATE, instructedAmount })).target.amount).toBe(text);
      expect(server.seen.at(-1)?.body).toContain(`"amount":${text}}`);
    };
    await fc.assert(fc.asyncProperty(amounts, roundTrip), {
      numRuns: 300,
      examples: BIG.map((text) => [text]),
    });
  });

  test.each([
    ['10', '10.00'],
    ['10.5', '10.50'],
    ['"0"', '0.00'],
    ['7.5000', '7.50'],
    ['"0012.30"', '12.30'],
  ])('H14 accepts %s from the provider', (written, meant) => {
    expect(parsedAmount(`{"a":${written}}`)).toBe(meant);
  });

  test.each(['1.005', '-1', '-0', '"1,000.00"', '" 1"', '"+1"', '""', 'null', 'true', '[1]', '{}'])(
    'H14 rejects the amount %s',
    (written) => expect(() => parsedAmount(`{"a":${written}}`)).toThrow(),
  );

  test.each([
    ['1.0E7', '10000000.00'],
    ['1E+7', '10000000.00'],
    ['1.005E3', '1005.00'],
    ['1.23456789E7', '12345678.90'],
    ['"2.5e1"', '25.00'],
    ['1E-2', '0.01'],
    ['0E0', '0.00'],
  ])('H231 reads the exponent of %s exactly', (written, meant) => {
    expect(parsedAmount(`{"a":${written}}`)).toBe(meant);
  });

  test.each(['1.0051E1', '1E-3', '1E16', '1e99', '-1E2', '1.23456789012345678E15', '1.2345678901234567E13'])(
    'H231 rejects %s, which is not exact to two decimals',
    (written) => expect(() => parsedAmount(`{"a":${written}}`)).toThrow(),
  );

  test('H14 rejects more digits than the spec allows instead of rounding', () => {
    expect(() => parsedAmount('{"a":10000000000000000.00}')).toThrow();
    expect(() => parsedAmount('{"a":1.0000000000000000000000001}')).toThrow();
  });

  test('H14 names the field of a bad amount in an answer', async () => {
    for (const bad of ['-1', '1e-3', '0.001', '"abc"', 'null']) {
      const body = successBody('tradeResult').replace(
        '"receive_target_amount":700.00',
        `"receive_target_amount":${bad}`,
      );
      const server = await startServer(answers(200, body));
      const error = await failureOf(callOf(clientFor(server.origin), 'tradeResult'));
      expect(error).toMatchObject({ code: 'MALFORMED_ANSWER', field: 'data.receive_target_amount' });
    }
  });

  test('H14 sends no bad amount', async () => {
    const server = await startServer(answers(200, successBody('createPayout')));
    const client = clientFor(server.origin);
    for (const bad of ['-1', '1e3', '0.001', '0', '0.00', '', '1.', '.5', 'NaN', '12345678901234567']) {
      const error = await failureOf(
        client.createPayout({ ...CREATE, instructedAmount: { currency: 'CNY', amount: bad } }),
      );
      expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
      expect(error).toMatchObject({ fields: [{ path: 'instructedAmount.amount' }] });
    }
    expect(server.seen).toHaveLength(0);
  });

  test.each([
    ['7.1234567890123456789', '7.1234567890123456789'],
    ['"7.0"', '7.0'],
    ['2.8e-4', '0.00028'],
    ['1.5E2', '150'],
  ])('reads the rate %s exactly', (written, meant) => {
    expect(rate.parse(member(`{"a":${written}}`))).toBe(meant);
  });

  test.each(['0', '0.000', '"0"', '0E0'])('H231 reads the rate %s as none', (written) => {
    expect(rate.parse(member(`{"a":${written}}`))).toBe('0');
  });

  test.each(['0', '-1', '"n/a"', 'null'])('H231 an order with the rate %s can be read', async (written) => {
    const body = successBody('payoutOrder').replace('"exchangeRate":"7.0"', `"exchangeRate":${written}`);
    expect(body).toContain(`"exchangeRate":${written}`);
    const server = await startServer(answers(200, body));
    const order = await callOf(clientFor(server.origin), 'payoutOrder');
    expect(order).toMatchObject({ target: { currency: 'CNY' } });
  });

  test.each(['-1', '"x"', '1e99', 'null'])('rejects the rate %s', (written) => {
    expect(rate.safeParse(member(`{"a":${written}}`)).success).toBe(false);
  });
});

function parsedAmount(json: string): string {
  return amount.parse(member(json));
}

function member(json: string): unknown {
  const value = readExactJson(Buffer.from(json));
  return typeof value === 'object' && value !== null && 'a' in value ? value.a : undefined;
}
