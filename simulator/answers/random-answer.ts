/** Draws a random answer: a true, changed or invented record, or an error, in an envelope. */
import { LosslessNumber } from 'lossless-json';
import { operations } from '../endpoints/index.ts';
import type { OperationName } from '../faults/rules.ts';
import { type Answer, type Code, jsonAnswer, type Style } from '../http/envelope.ts';
import { isJsonObject, type JsonObject, mergePatch, parseJson, writeJson } from '../json.ts';
import { type Money, parseMinor } from '../money.ts';
import { chance, pick, pickWeighted, type Random, seededRandom, whole } from '../runtime.ts';
import { changedRecord, drawRecord, drawText } from './draw.ts';
import { asIfEnded, type OrderTerms, type TradeOperation } from './ended.ts';
import { SPEC_RECORDS } from './spec-records.ts';

export interface DrawContext {
  /** The data of the true answer; absent if the true answer is a refusal. */
  truth?: unknown;
  /** True data of other orders, of the same kind. */
  others?: readonly unknown[] | undefined;
  /** Fields that every answer to this request repeats, so that an invented record looks real. */
  echo?: JsonObject | undefined;
  /** The amounts of the order. Without them, no `as-if-ended` record is drawn. */
  terms?: OrderTerms | undefined;
}

export const SORTS = [
  'changed',
  'as-if-ended',
  'of-another',
  'invented',
  'no-record',
  'error',
  'truth-with-error',
] as const;
export type Sort = (typeof SORTS)[number];

export interface DrawnAnswer {
  sort: Sort;
  status: number;
  /** `success`: the success code of the operation's style. */
  code: Code | 'success';
  message: string;
  data: unknown;
  retryAfterSeconds?: number;
}

export function drawAnswer(operation: OperationName, random: Random, context: DrawContext): DrawnAnswer {
  const sort = pickWeighted(random, [
    ['changed', 6],
    ['as-if-ended', 3],
    ['of-another', 2],
    ['invented', 2],
    ['no-record', 1],
    ['error', 5],
    ['truth-with-error', 1],
  ]);
  if (sort === 'error') return drawError(random, null, sort);
  if (sort === 'truth-with-error') return drawError(random, context.truth ?? null, sort);
  const data = drawData(sort, operation, random, context);
  // Some records have an unusual HTTP status.
  const status = chance(random, 0.9) ? 200 : pick(random, [201, 202, 400, 404, 500]);
  return { sort, status, code: 'success', message: pick(random, MESSAGES), data };
}

const MESSAGES = ['OK', 'SUCCESS', 'ok', ''] as const;

function drawData(
  sort: 'changed' | 'as-if-ended' | 'of-another' | 'invented' | 'no-record',
  operation: OperationName,
  random: Random,
  { truth, others = [], echo = {}, terms }: DrawContext,
): unknown {
  const fields = SPEC_RECORDS[operation];
  const invented = () => {
    const record = drawRecord(fields, random);
    return chance(random, 0.7) ? mergePatch(record, echo) : record;
  };
  if (sort === 'no-record')
    return pick<unknown>(random, [null, [], {}, '', 'null', new LosslessNumber('0'), false]);
  if (sort === 'invented') return invented();
  if (sort === 'of-another') {
    const other = pick(random, others);
    if (other === undefined) return invented();
    return chance(random, 0.6) ? mergePatch(other, echo) : other;
  }
  const record = isJsonObject(truth) ? truth : invented();
  if (!isJsonObject(record)) return record;
  return sort === 'as-if-ended' && terms && isTrade(operation)
    ? asIfEnded(operation, record, terms, random)
    : changedRecord(record, fields, random, others);
}

function isTrade(operation: OperationName): operation is TradeOperation {
  return operation === 'queryResult' || operation === 'queryPayDetail';
}

/** Every code that the spec names, including the success codes of both envelopes. */
const DOCUMENTED_CODES = [429, 900000, 900002, 900004, 401, 403, 0, 200] as const;
const ERROR_STATUSES = [400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504] as const;

function drawError(random: Random, data: unknown, sort: Sort): DrawnAnswer {
  const code = drawCode(random);
  const status = chance(random, 0.7) ? 200 : pick(random, ERROR_STATUSES);
  const limited = status === 429 || status === 503;
  return {
    sort,
    status,
    code: chance(random, 0.3) ? String(code) : code,
    message: drawText(random, 64),
    data,
    ...(limited && chance(random, 0.5) && { retryAfterSeconds: whole(random, 0, 3) }),
  };
}

function drawCode(random: Random): Code {
  if (chance(random, 0.7)) return pick<Code>(random, DOCUMENTED_CODES);
  return pick<Code>(random, [whole(random, 1, 99_999), whole(random, 900_001, 900_099), -1, '', 'E_LIMIT']);
}

const SUCCESS: Readonly<Record<Style, number>> = { A: 0, B: 200, V1: 0 };

/** Formats the answer. `bare`: the operation's records have no envelope (`v1Envelope`). */
export function toAnswer(drawn: DrawnAnswer, style: Style, bare = false): Answer {
  const { status, message, data, retryAfterSeconds } = drawn;
  const succeeds = drawn.code === 'success';
  const code = succeeds ? SUCCESS[style] : drawn.code;
  const answer =
    succeeds && bare ? jsonAnswer(status, data, null) : jsonAnswer(status, { code, message, data }, code);
  return retryAfterSeconds === undefined
    ? answer
    : { ...answer, headers: { 'retry-after': String(retryAfterSeconds) } };
}

interface MoneyText {
  currency: string;
  amount: string;
}

export interface AnswerContext {
  /** The `data` of the true answer as JSON text; absent if the true answer is a refusal. */
  truth?: string | undefined;
  /** The `data` of true answers about other orders, each as JSON text. */
  others?: readonly string[] | undefined;
  /** Fields that an invented record repeats so that it looks real, e.g. `partner_order_id`. */
  echo?: JsonObject | undefined;
  /** The amounts of the order. Without them, no `as-if-ended` record is drawn. */
  terms?: { target: MoneyText; pay: MoneyText; fee: MoneyText } | undefined;
}

export interface RandomAnswer {
  /** How the answer was made: `changed`, `invented`, `error` and so on. */
  sort: Sort;
  status: number;
  headers: Record<string, string>;
  /** The body as sent. */
  body: string;
}

/**
 * Draws any answer that `operation` may give, and some that it may not. Unlike the fault of the same name, it may draw
 * false answers that no client can detect.
 */
export function randomAnswer(
  operation: OperationName,
  seed: number,
  { truth, others = [], echo, terms }: AnswerContext = {},
): RandomAnswer {
  const style = operations.find(({ name }) => name === operation)?.style ?? 'A';
  const drawn = drawAnswer(operation, seededRandom(seed), {
    truth: truth === undefined ? undefined : parseJson(truth),
    others: others.map(parseJson),
    echo,
    terms: terms && { target: exact(terms.target), pay: exact(terms.pay), fee: exact(terms.fee) },
  });
  const { status, headers = {}, text } = toAnswer(drawn, style);
  return { sort: drawn.sort, status, headers, body: text };
}

/** Draws only the `data`, within the spec's tables, as JSON text. */
export function randomRecord(operation: OperationName, seed: number): string {
  return writeJson(drawRecord(SPEC_RECORDS[operation], seededRandom(seed)));
}

function exact({ currency, amount }: MoneyText): Money {
  const minor = parseMinor(amount);
  if (minor === undefined) throw new RangeError(`${amount} is not an amount such as 10.00`);
  return { currency, minor };
}
