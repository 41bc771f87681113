import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isJsonPointer,
  NotificationFormatError,
  parseNotification,
} from '../../src/payments/notification.ts';

const parse = (text: string, fields = {}) => parseNotification(Buffer.from(text), fields);

describe('notifications are searched for every spelling of the specification', () => {
  test.each(['order_id', 'orderId'])('%s at every place', (name) => {
    for (const wrap of places(`{"${name}":"O-1"}`)) expect(parse(wrap)).toEqual({ orderId: 'O-1' });
  });

  test.each(['partner_order_id', 'partnerOrderId', 'outOrderId', 'out_order_id'])(
    '%s at every place',
    (name) => {
      for (const wrap of places(`{"${name}":"P-1"}`)) expect(parse(wrap)).toEqual({ partnerOrderId: 'P-1' });
    },
  );

  test('the outermost value takes precedence, null and empty ones are skipped, numbers keep their digits', () => {
    expect(parse('{"order_id":null,"orderId":"","data":{"order_id":12345678901234567890}}')).toEqual({
      orderId: '12345678901234567890',
    });
    expect(parse('{"status":"A","data":{"status":"B"}}')).toEqual({ status: 'A' });
    expect(parse('{}')).toEqual({});
  });

  test('a JSON pointer disables the search', () => {
    const body = '{"order_id":"no","event":{"a/b":[{"id":"O-9"}]}}';
    expect(parse(body, { orderId: '/event/a~1b/0/id' })).toEqual({ orderId: 'O-9' });
    expect(parse(body, { orderId: '/event/missing' })).toEqual({});
  });
});

describe('H36 oversized and malformed bodies are rejected with one typed error', () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  test.each([
    ['over 64 KiB', `{"a":"${'x'.repeat(65_536)}"}`],
    ['17 deep', nested(17)],
    ['very deep', '['.repeat(60_000)],
    ['a key twice', '{"order_id":"a","order_id":"b"}'],
    ['a key twice, the same', '{"order_id":"a","order_id":"a"}'],
    ['a key twice, inside', '{"data":[{"x":1,"x":1}]}'],
    ['a key twice, escaped', '{"order_id":"a","order\\u005fid":"a"}'],
    ['an array', '[]'],
    ['a text', '"O-1"'],
    ['a number', '7'],
    ['null', 'null'],
    ['nothing', ''],
    ['cut', '{"order_id":"O'],
    ['trailing', '{} {}'],
    ['a value over 64', `{"order_id":"${'x'.repeat(65)}"}`],
    ['control characters', '{"order_id":"a\\u0000"}'],
  ])('H36 %s', (_name, text) => {
    expect(() => parse(text)).toThrow(NotificationFormatError);
  });

  test('H36 accepts a depth of 16 and 64 KiB', () => {
    expect(parse(nested(16))).toEqual({});
    expect(parse(`{"a":"${'x'.repeat(65_536 - 8)}"}`)).toEqual({});
  });

  test('H36 ignores inherited property names', () => {
    expect(parse('{"__proto__":{"order_id":"O-1"}}')).toEqual({});
    expect(parse('{}', { orderId: '/constructor/name' })).toEqual({});
    expect(Object.prototype).not.toHaveProperty('order_id');
  });

  test('H36 invalid UTF-8, and an invalid pointer', () => {
    expect(() => parseNotification(Buffer.from([0x7b, 0xff, 0x7d]))).toThrow(NotificationFormatError);
    expect(() => parse('{}', { orderId: 'order_id' })).toThrow(NotificationFormatError);
    expect([isJsonPointer(''), isJsonPointer('/a/~1'), isJsonPointer('/~2'), isJsonPointer('a')]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('H36 any bytes and any JSON either parse or throw the typed error', () => {
    const neverElse = (bytes: Buffer) => {
      try {
        for (const value of Object.values(parseNotification(bytes)))
          expect(value.length).toBeLessThanOrEqual(64);
      } catch (error) {
        expect(error).toBeInstanceOf(NotificationFormatError);
      }
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => neverElse(Buffer.from(bytes))));
    fc.assert(fc.property(fc.json(), (text) => neverElse(Buffer.from(text))));
    const shaped = fc.record({ order_id: fc.jsonValue(), data: fc.jsonValue(), receiver: fc.jsonValue() });
    fc.assert(fc.property(shaped, (value) => neverElse(Buffer.from(JSON.stringify(value)))));
  });
});

function places(inner: string): string[] {
  return [inner, `{"data":${inner}}`, `{"receiver":${inner}}`, `{"data":{"receiver":${inner}}}`];
}
