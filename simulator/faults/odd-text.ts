/** The fault `odd-text`: the true answer, whose descriptions have text that must not be shown as it is. */
import { asEntries } from '../answers/change.ts';
import { type Fields, SPEC_RECORDS } from '../answers/spec-records.ts';
import type { Answer } from '../http/envelope.ts';
import { isJsonObject, type JsonObject, parseJson, writeJson } from '../json.ts';
import type { OddText, OperationName } from './rules.ts';

/** The spec shows no fields of a receiving account; `bank_location` is the simulator's own. */
const DESCRIPTIONS: readonly string[] = [
  'error_msg',
  'refund_reason',
  'failReason',
  'remark',
  'bank_location',
];
/** A character for private use, which the answer replaces by the first bytes of a longer one. */
const PLACE = '\uf8ff';
const BAD_BYTES = Buffer.from([0xe9, 0x93]);

const ODD_TEXTS: Readonly<Record<OddText, string>> = {
  'bad-byte': `account ${PLACE}closed`,
  control: 'account\u0000\u0085\r\nphase  DONE\u2028closed',
  escape: '\u001b[2J\u001b]0;PAID\u0007account closed\u009b1A',
  surrogate: 'account \ud83d closed',
  bidi: 'returned \u202e00.001\u202c of \u206600.1\u2069',
};

/** Leaves an answer without a record, such as a refusal, as it is. */
export function withOddText(answer: Answer, operation: OperationName, kind: OddText): Answer {
  const body = parseJson(answer.text);
  const isBare = answer.code === null;
  const record = isBare || !isJsonObject(body) ? body : body['data'];
  if (!isJsonObject(body) || !isJsonObject(record)) return answer;
  const odd = oddRecord(record, SPEC_RECORDS[operation], ODD_TEXTS[kind]);
  const text = writeJson(isBare ? odd : { ...body, data: odd });
  return { ...answer, text, body: bytesOf(text) };
}

function oddRecord(record: JsonObject, fields: Fields, text: string): JsonObject {
  const odd: JsonObject = { ...record };
  for (const [name, { shape }] of Object.entries(fields)) {
    const value = record[name];
    if (DESCRIPTIONS.includes(name)) odd[name] = text;
    else if (shape.is === 'entries')
      odd[name] = asEntries(value).map((one) =>
        isJsonObject(one) ? oddRecord(one, shape.fields, text) : one,
      );
  }
  return odd;
}

function bytesOf(text: string): Buffer {
  const parts = text.split(PLACE).map((part) => Buffer.from(part));
  return Buffer.concat(parts.flatMap((part, at) => (at === 0 ? [part] : [BAD_BYTES, part])));
}
