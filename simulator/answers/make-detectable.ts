/** Changes a false answer until a client can detect it. */
import { isJsonObject, type JsonObject } from '../json.ts';
import { pick, type Random } from '../random.ts';
import { drawText } from './draw.ts';

type Change = (record: JsonObject, random: Random) => JsonObject;

const CHANGES: readonly [Change, ...Change[]] = [
  (record, random) => ({ ...record, partner_order_id: drawText(random, 64) }),
  (record, random) => ({ ...record, client_id: drawText(random, 64) }),
  (record, random) => ({ ...record, order_id: drawText(random, 64) }),
  (record) => ({ ...record, complete_flag: false }),
  (record) => ({ ...record, status: 'PROCESSING' }),
  (record) => ({ ...record, target_currency: record['target_currency'] === 'USD' ? 'EUR' : 'USD' }),
  (record) => ({ ...record, receive_target_amount: '0.37', failed_target_amount: '0.11' }),
  (record) => ({ ...record, status: record['status'] === 'FAILED' ? 'SUCCESS' : 'FAILED' }),
];

const MAX_TRIES = 20;

/** Changes `data` until `isAllowed`; null if that takes too many tries. */
export function madeDetectable(
  data: unknown,
  random: Random,
  isAllowed: (data: unknown) => boolean,
): unknown {
  let changed = data;
  for (let tries = 0; tries < MAX_TRIES && !isAllowed(changed); tries += 1)
    if (isJsonObject(changed)) changed = pick(random, CHANGES)(changed, random);
  return isAllowed(changed) ? changed : null;
}
