import { describe, expect, test } from 'vitest';
import type { ApiOperation } from '../../src/payments/operations.ts';
import { clientFor } from './support/client.ts';
import { callOf } from './support/samples.ts';
import { startServer } from './support/server.ts';
import { settle } from './support/settle.ts';

describe('H26 single answers', () => {
  const rows: [ApiOperation, number, string, string][] = [
    ['createPayout', 200, '{"code":"0","message":"OK","data":null}', 'AMBIGUOUS'],
    ['createPayout', 200, '{"code":429}', 'CREATE_REFUSED'],
    ['createPayout', 200, '{"code":429,"code":0}', 'AMBIGUOUS'],
    ['createPayout', 429, '', 'CREATE_REFUSED'],
    ['createPayout', 429, '{"code":0,"message":"OK","data":{}}', 'AMBIGUOUS'],
    ['createPayout', 429, '{"code":200,"message":"SUCCESS"}', 'AMBIGUOUS'],
    ['createPayout', 500, '{"code":429}', 'AMBIGUOUS'],
    ['createPayout', 401, '', 'AMBIGUOUS'],
    ['createPayout', 200, '{"code":900000}', 'AMBIGUOUS'],
    ['tradeResult', 200, '{"code":900004,"message":"order not exist"}', 'ORDER_NOT_EXIST'],
    ['tradeResult', 200, '{"code":900004,"data":{"partner_order_id":"p-1"}}', 'ORDER_NOT_EXIST'],
    ['tradeResult', 200, '{"code":900004,"data":{"order_id":"PO1"}}', 'MALFORMED_ANSWER'],
    ['payoutOrder', 400, '{"code":900004,"data":{"orderId":"PO1"}}', 'MALFORMED_ANSWER'],
    ['tradeResult', 404, 'Not Found', 'MALFORMED_ANSWER'],
    ['tradeResult', 503, '{"code":900004}', 'UNAVAILABLE'],
    ['tradeResult', 200, '{"code":"200","data":[]}', 'MALFORMED_ANSWER'],
    ['accounts', 200, '{"code":200,"message":"SUCCESS"}', 'MALFORMED_ANSWER'],
    ['exchangeCode', 200, '{"code":10010,"message":"code used"}', 'REFUSED'],
    ['openReceivingAccount', 201, '{}', 'AMBIGUOUS'],
    ['quote', 200, '{"code":0,"message":"ok","data":{}}', 'MALFORMED_ANSWER'],
  ];

  const createdRows: [ApiOperation, number, string, string][] = [
    ['openReceivingAccount', 201, '{"code":201,"message":"Created","data":{"id":"acc-1"}}', 'AMBIGUOUS'],
    ['openReceivingAccount', 201, '{"code":77001,"message":"no"}', 'AMBIGUOUS'],
    ['openReceivingAccount', 200, '{"code":201,"message":"Created","data":{"id":"acc-1"}}', 'AMBIGUOUS'],
    ['openReceivingAccount', 200, '{"code":"SUCCESS","data":{"id":"acc-1"}}', 'AMBIGUOUS'],
    ['openReceivingAccount', 201, '{"code":0,"message":"OK","data":{"id":"acc-1"}}', 'OK'],
    ['openReceivingAccount', 400, '{"code":77001,"message":"no"}', 'REFUSED'],
    ['createPayout', 201, '{"code":429}', 'AMBIGUOUS'],
  ];

  test.each(createdRows)('H232 %s: HTTP %i with %s is %s', async (operation, status, body, code) => {
    const server = await startServer((_request, response) => response.writeHead(status).end(body));
    const [got] = await settle(callOf(clientFor(server.origin), operation));
    expect(got.split(' ')[0]).toBe(code);
  });

  test.each(rows)('H26 %s: HTTP %i with %s is %s', async (operation, status, body, code) => {
    const server = await startServer((_request, response) => response.writeHead(status).end(body));
    const [got] = await settle(callOf(clientFor(server.origin), operation));
    expect(got.split(' ')[0]).toBe(code);
  });

  test('H27 900002 to a query means an invalid query, and says nothing about the payout', async () => {
    const server = await startServer((_request, response) => response.end('{"code":900002}'));
    const [code, error] = await settle(callOf(clientFor(server.origin), 'tradeResult'));
    expect([code, error?.mayHaveTakenEffect]).toEqual(['ILLEGAL_PARAMETER', false]);
  });

  test('H5 without listed codes, no answer proves that a create did not happen', async () => {
    const server = await startServer((_request, response) => response.writeHead(429).end('{"code":429}'));
    const client = clientFor(server.origin, { createCodes: new Map() });
    expect(await settle(callOf(client, 'createPayout'))).toMatchObject(['AMBIGUOUS', {}]);
  });

  test('H4 a listed code has its meaning, as number and as text', async () => {
    for (const code of ['7', '"7"']) {
      const server = await startServer((_request, response) => response.end(`{"code":${code}}`));
      const client = clientFor(server.origin, { createCodes: new Map([['7', 'insufficient']]) });
      expect((await settle(callOf(client, 'createPayout')))[0]).toBe('CREATE_REFUSED insufficient');
    }
  });
});
