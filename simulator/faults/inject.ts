/** Applies a fault to one request: one function per kind of fault. */

import { asEntries } from '../answers/draw.ts';
import { type Fields, SPEC_RECORDS } from '../answers/spec-records.ts';
import { type Answer, failure, jsonAnswer, rateLimited, success } from '../http/envelope.ts';
import type { Exchange } from '../http/exchange.ts';
import { isJsonObject, type JsonObject, parseJson, writeJson } from '../json.ts';
import { pick, sleep } from '../runtime.ts';
import { answerAtRandom } from './random-answer.ts';
import {
  type Fault,
  type FaultKind,
  type InjectedFault,
  ODD_TEXTS,
  type OddText,
  type OperationName,
} from './rules.ts';

type Handler<Kind extends FaultKind> = (
  exchange: Exchange,
  fault: Extract<Fault, { kind: Kind }>,
  injected: Pick<InjectedFault, 'held' | 'random'>,
) => Promise<void>;

const HANDLERS: { [Kind in FaultKind]: Handler<Kind> } = {
  latency: (exchange, fault) =>
    waitAround(exchange, fault.effect, () => sleep(exchange.received.world.clock, fault.ms)),
  'hold-until-released': (exchange, fault, { held }) => waitAround(exchange, fault.effect, held),
  'drop-before': async (exchange) => exchange.drop(),
  'drop-after': async (exchange) => {
    await exchange.perform();
    exchange.drop();
  },
  status: (exchange, fault) =>
    instead(exchange, fault.effect, {
      status: fault.status,
      contentType: 'application/json; charset=utf-8',
      text: fault.body ?? '',
      code: null,
      headers: retryAfter(exchange, fault),
    }),
  envelope: (exchange, fault) =>
    instead(exchange, fault.effect, {
      ...failure(fault.status, fault.code, fault.message ?? 'simulated'),
      headers: retryAfter(exchange, fault),
    }),
  garbage: (exchange, fault) =>
    instead(exchange, fault.effect, {
      status: 200,
      contentType: 'application/json',
      text: '\u0000<<not json at all}{',
      code: null,
    }),
  'html-502': (exchange, fault) =>
    instead(exchange, fault.effect, {
      status: 502,
      contentType: 'text/html',
      text: '<html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>',
      code: null,
    }),
  'slow-body': async (exchange, fault) => exchange.sendInHalves(await exchange.perform(), fault.ms),
  'cut-body': async (exchange) => exchange.sendInHalves(await exchange.perform(), undefined),
  'redirect-307': async (exchange, fault) =>
    exchange.send({ ...jsonAnswer(307, null, null), headers: { location: fault.location } }),
  'data-null': async (exchange) => {
    await exchange.perform();
    exchange.send(success(exchange.operation.style, null, 200, exchange.received.world.settings));
  },
  'rate-limited-but-executes': async (exchange, fault) => {
    await exchange.perform(fault.showAfterMs);
    exchange.send(rateLimited(exchange.received.world.settings));
  },
  'odd-text': async (exchange, { text }, { random }) => {
    const answer = await exchange.perform();
    exchange.send(withOddText(answer, exchange.operation.name, text ?? pick(random, ODD_TEXTS)));
  },
  'random-answer': (exchange, fault, { random }) => answerAtRandom(exchange, fault, random),
};

function retryAfter(
  { received: { world } }: Exchange,
  { retryAfter: wait }: { retryAfter?: number | string | undefined },
): Record<string, string> {
  if (wait === undefined) return {};
  const isDate = typeof wait === 'number' && world.settings.retryAfterForm === 'date';
  const text = isDate ? new Date(world.clock.wallMs() + wait * 1_000).toUTCString() : String(wait);
  return { 'retry-after': text };
}

export async function injectFault(exchange: Exchange, injected: InjectedFault): Promise<void> {
  await hit(exchange, injected.fault, injected);
}

/** The table is keyed by kind, so the handler for a fault's kind takes exactly that fault. */
function hit<Kind extends FaultKind>(
  exchange: Exchange,
  fault: Extract<Fault, { kind: Kind }> & { kind: Kind },
  injected: Pick<InjectedFault, 'held' | 'random'>,
): Promise<void> {
  const handle: Handler<Kind> = HANDLERS[fault.kind];
  return handle(exchange, fault, injected);
}

/** The request takes effect even if its sender has disconnected. */
async function waitAround(
  exchange: Exchange,
  strikes: 'before' | 'after',
  wait: () => Promise<void>,
): Promise<void> {
  if (strikes === 'before') await wait();
  const answer = await exchange.perform();
  if (strikes === 'after') await wait();
  exchange.send(answer);
}

async function instead(exchange: Exchange, effect: 'none' | 'commit', answer: Answer): Promise<void> {
  if (effect === 'commit') await exchange.perform();
  exchange.send(answer);
}

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

const TEXTS: Readonly<Record<OddText, string>> = {
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
  const odd = oddRecord(record, SPEC_RECORDS[operation], TEXTS[kind]);
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
