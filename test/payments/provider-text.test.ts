/** The provider's text, as bytes on a socket. */
import { describe, expect, test } from 'vitest';
import type { ApiOperation } from '../../src/payments/operations.ts';
import { clientFor, failureOf } from './support/client.ts';
import { replaced } from './support/records.ts';
import { callOf, DATA, successBody } from './support/samples.ts';
import { answers, startServer } from './support/server.ts';

/** Stands for the first bytes of a character whose last byte is missing. */
const BAD = '\u0001';
const BAD_BYTES = Buffer.from([0xe9, 0x93]);
const ESC = '\\u001b';

/** `text` in UTF-8, in which `BAD` becomes bytes that are not. */
function bytesOf(text: string): Buffer {
  const [first = '', ...rest] = text.split(BAD);
  return Buffer.concat([Buffer.from(first), ...rest.flatMap((part) => [BAD_BYTES, Buffer.from(part)])]);
}

async function call(operation: ApiOperation, data: string): Promise<unknown> {
  const server = await startServer(answers(200, bytesOf(successBody(operation, data))));
  return callOf(clientFor(server.origin), operation);
}

const withDescription = (text: string) => DATA.tradeResult.replace('{', `{"error_msg":"${text}",`);
const SPLIT = (text: string) =>
  `{"distribute_id":"D-1","target_currency":"CNY","target_amount":7,"status":"FAILED","finish_time":1,
  "error_msg":"${text}","refund_reason":"${text}","refund_flag":false}`;

describe('H200 a description cannot act on what shows it', () => {
  test.each([
    ['a bad byte', `closed${BAD} account`, 'closed\ufffd account'],
    ['an escape sequence', `${ESC}[2J${ESC}]0;PAID\\u0007refused`, '[2J]0;PAIDrefused'],
    ['a C1 control character', 'a\\u009b2Jb', 'a2Jb'],
    ['lines', 'first\\r\\nphase  DONE\\u2028third', 'first phase  DONE third'],
    ['lone surrogates', 'a\\ud83db\\ude00', 'a\ufffdb\ufffd'],
    ['bidirectional controls', 'pay \\u202e00.001\\u202c \\u2066x\\u2069\\u200f\\u061c', 'pay 00.001 x'],
    ['a whole emoji', '\\ud83d\\ude00 中', '😀 中'],
  ])('H200 %s', async (_what, written, shown) => {
    expect(await call('tradeResult', withDescription(written))).toMatchObject({
      status: 'SUCCESS',
      errorMessage: shown,
    });
    const detail = DATA.tradeDetail.replace('detail":[]}', `detail":[${SPLIT(written)}]}`);
    expect(await call('tradeDetail', detail)).toMatchObject({
      splits: [{ distributeId: 'D-1', error: shown, refundReason: shown }],
    });
    expect(await call('payoutOrder', replaced(DATA.payoutOrder, 'failReason', `"${written}"`))).toMatchObject(
      {
        orderId: 'O-1',
        failReason: shown,
      },
    );
  });

  test('H200 a description of control characters only is absent', async () => {
    expect(await call('tradeResult', withDescription('\\u0000\\u202e'))).not.toHaveProperty('errorMessage');
  });

  test('H200 a bad byte in a field that nothing reads does not matter', async () => {
    const remark = replaced(DATA.createPayout, 'remark', `"${BAD}"`);
    expect(await call('createPayout', remark)).toMatchObject({ orderId: 'O-1' });
  });

  test('H200 names lose control characters only', async () => {
    const data = replaced(DATA.payoutOrder, 'bankAccountName', '"Zhang\\u0000 \\u202eSan"');
    expect(await call('payoutOrder', data)).toMatchObject({ bankAccountName: 'Zhang San' });
  });

  test("H200 every text of a receiving account's record", async () => {
    const data = `{"id":"R-1","bank":{"names":["a${BAD}${ESC}[1m","b\\u202e"]}}`;
    expect(await call('openReceivingAccount', data)).toEqual({
      id: 'R-1',
      bank: { names: ['a\ufffd[1m', 'b'] },
    });
  });

  test('H200 the type and the currency of an account that could not be read', async () => {
    const row = `{"account_type":"A${ESC}[2J","currency":"USD ","avail_balance":1}`;
    const data = `{"client_id":"C-1","account_info_list":[${row}]}`;
    expect(await call('accounts', data)).toEqual({
      clientId: 'C-1',
      accounts: [],
      unread: [{ currency: 'USD' }],
    });
  });
});

describe('H200 an id, an amount, a code, a status or a name that could not be read is not corrected', () => {
  const bad = [BAD, `${ESC}[2J`, '\\u202e', '\\ud800', '\\ufffd'];
  test.each([
    ['tradeResult', 'order_id', 'data.order_id'],
    ['tradeResult', 'partner_order_id', 'data.partner_order_id'],
    ['tradeResult', 'status', 'data.status'],
    ['tradeResult', 'audit_status', 'data.audit_status'],
    ['tradeResult', 'target_currency', 'data.target_currency'],
    ['tradeResult', 'receive_target_amount', 'data.receive_target_amount'],
    ['payoutOrder', 'orderId', 'data.orderId'],
    ['payoutOrder', 'outOrderId', 'data.receiver.outOrderId'],
    ['payoutOrder', 'bankAccountNumber', 'data.receiver.bankAccountNumber'],
    ['payoutOrder', 'lockRateId', 'data.lockRateId'],
    ['quote', 'lock_rate_id', 'lock_rate_id'],
  ] as const)('H200 %s with %s', async (operation, field, path) => {
    for (const text of bad) {
      const error = await failureOf(call(operation, replaced(DATA[operation], field, `"1${text}"`)));
      expect(error).toMatchObject({ code: 'MALFORMED_ANSWER', field: path });
    }
  });

  test('H200 a name with a bad byte', async () => {
    const error = await failureOf(
      call('payoutOrder', replaced(DATA.payoutOrder, 'bankAccountName', `"Z${BAD}"`)),
    );
    expect(error).toMatchObject({ code: 'MALFORMED_ANSWER', field: 'data.receiver.bankAccountName' });
  });

  test('H200 a key', async () => {
    for (const text of bad) {
      const data = DATA.tradeResult.replace('{', `{"audit_${text}status":"APPROVED",`);
      expect(await failureOf(call('tradeResult', data))).toMatchObject({ code: 'MALFORMED_ANSWER' });
    }
  });

  test('H200 the id of a created order, a receiving account or a token: the outcome is unknown', async () => {
    for (const [operation, field] of [
      ['createPayout', 'orderId'],
      ['openReceivingAccount', 'id'],
      ['refreshUserToken', 'refresh_token'],
    ] as const) {
      const error = await failureOf(call(operation, replaced(DATA[operation], field, `"R-1${BAD}"`)));
      expect(error).toMatchObject({ code: 'AMBIGUOUS', mayHaveTakenEffect: true });
    }
  });

  test("H200 the envelope's code: no proof that nothing was done", async () => {
    for (const text of bad) {
      const server = await startServer(
        answers(400, bytesOf(`{"code":"900${text}","message":"","data":null}`)),
      );
      const error = await failureOf(callOf(clientFor(server.origin), 'openReceivingAccount'));
      expect(error).toMatchObject({ code: 'AMBIGUOUS', mayHaveTakenEffect: true });
    }
  });
});
