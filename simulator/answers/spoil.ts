/** Puts something into a lie that gives it away. */
import { isJsonObject, type JsonObject } from '../json.ts';
import { pick, type Random } from '../random.ts';
import { drawText } from './draw.ts';

type Spoil = (record: JsonObject, random: Random) => JsonObject;

const SPOILS: readonly [Spoil, ...Spoil[]] = [
  (record, random) => ({ ...record, partner_order_id: drawText(random, 64) }),
  (record, random) => ({ ...record, client_id: drawText(random, 64) }),
  (record, random) => ({ ...record, order_id: drawText(random, 64) }),
  (record) => ({ ...record, complete_flag: false }),
  (record) => ({ ...record, status: 'PROCESSING' }),
  (record) => ({ ...record, target_currency: record['target_currency'] === 'USD' ? 'EUR' : 'USD' }),
  (record) => ({ ...record, receive_target_amount: '0.37', failed_target_amount: '0.11' }),
  (record) => ({ ...record, status: record['status'] === 'FAILED' ? 'SUCCESS' : 'FAILED' }),
];

const TRIES = 20;

/** `data`, with as much changed as `mayBeTold` asks for. */
export function spoiled(data: unknown, random: Random, mayBeTold: (data: unknown) => boolean): unknown {
  let told = data;
  for (let tries = 0; tries < TRIES && !mayBeTold(told); tries += 1)
    if (isJsonObject(told)) told = pick(random, SPOILS)(told, random);
  return mayBeTold(told) ? told : null;
}
