/** Random trade details within the wire schema: amounts of 16 digits, invalid times, any status. */
import fc from 'fast-check';
import type { TradeDetail } from '../../src/contract/provider-records.ts';
import { tradeDetailResponse } from '../../src/payments/wire/responses.ts';

const text = (maxLength: number) => fc.string({ minLength: 1, maxLength });
const amount = fc.stringMatching(/^\d{1,16}(\.\d{1,2}0{0,3})?$/);
const currency = fc.oneof(fc.constantFrom('CNY', 'USD', 'JPY'), fc.stringMatching(/^[A-Za-z0-9]{1,8}$/));
const flag = fc.constantFrom(true, false, 'true', 'false');
const time = fc.oneof(fc.constantFrom('', '0', '1700000000', '253402300799999'), fc.anything());
const status = fc.oneof(fc.constantFrom('PROCESSING', 'SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'), text(16));
const absent = <T>(value: fc.Arbitrary<T>) => fc.oneof(fc.constantFrom('', null, undefined), value);

const split = fc.record({
  // Few, so that ids repeat.
  distribute_id: fc.oneof(fc.constantFrom('S-1', 'S-2', 'S-3'), text(64)),
  target_currency: currency,
  target_amount: amount,
  status: fc.oneof(fc.constantFrom('SUCCESS', 'FAILED'), text(16)),
  finish_time: time,
  error_msg: absent(fc.string()),
  refund_reason: absent(fc.string()),
  refund_flag: flag,
});

export const tradeDetails: fc.Arbitrary<TradeDetail> = fc
  .record({
    order_id: text(64),
    client_id: text(64),
    partner_order_id: text(64),
    complete_flag: flag,
    status,
    create_time: time,
    finish_time: time,
    target_currency: currency,
    receive_target_amount: absent(amount),
    failed_target_amount: absent(amount),
    pay_account_detail: fc.constantFrom([], {}, null, ''),
    pay_distribute_detail: fc.oneof(fc.constantFrom({}, null, ''), fc.array(split, { maxLength: 6 })),
  })
  .map((wire) => tradeDetailResponse.parse(wire));
