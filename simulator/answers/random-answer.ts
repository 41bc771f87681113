/** Random answers without a simulator, for tests in one process: the same seed draws the same answer. */
import { operations } from '../endpoints/index.ts';
import type { OperationName } from '../faults/rules.ts';
import { type JsonObject, parseJson, writeJson } from '../json.ts';
import { type Money, parseMinor } from '../money.ts';
import { seededRandom } from '../random.ts';
import { drawRecord } from './draw.ts';
import { drawAnswer, type Sort, toAnswer } from './drawn-answer.ts';
import { SPEC_RECORDS } from './spec-records.ts';

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
