/** Random answers without a simulator, for tests that run in one process: a seed always draws the same answer. */
import { operations } from '../endpoints/index.ts';
import type { OperationName } from '../faults/rules.ts';
import { type JsonObject, parseJson, writeJson } from '../json.ts';
import { type Money, parseMinor } from '../money.ts';
import { seededRandom } from '../random.ts';
import { drawRecord } from './draw.ts';
import { drawAnswer, type Sort, tell } from './drawn-answer.ts';
import { SPEC_RECORDS } from './spec-records.ts';

interface MoneyText {
  currency: string;
  amount: string;
}

export interface AnswerContext {
  /** The `data` of the true answer as JSON text; absent where the truth is a refusal. */
  truth?: string | undefined;
  /** The `data` of true answers about other people's orders, each as JSON text. */
  others?: readonly string[] | undefined;
  /** Fields that an invented record repeats so that it is believed, e.g. `partner_order_id`. */
  echo?: JsonObject | undefined;
  /** The amounts of the order; without them no end is invented for it. */
  terms?: { target: MoneyText; pay: MoneyText; fee: MoneyText } | undefined;
}

export interface RandomAnswer {
  /** How it was made: `changed`, `invented`, `error` and so on. */
  sort: Sort;
  status: number;
  headers: Record<string, string>;
  /** The body as it goes over the wire. */
  body: string;
}

/**
 * Anything that `operation` may answer, and some of what it may not. Unlike the fault of the same name, it may draw a
 * lie that nobody could tell from the truth.
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
  const { status, headers = {}, text } = tell(drawn, style);
  return { sort: drawn.sort, status, headers, body: text };
}

/** Only the `data`, as JSON text, and only what the spec's table allows. */
export function randomRecord(operation: OperationName, seed: number): string {
  return writeJson(drawRecord(SPEC_RECORDS[operation], seededRandom(seed)));
}

function exact({ currency, amount }: MoneyText): Money {
  const minor = parseMinor(amount);
  if (minor === undefined) throw new RangeError(`${amount} is not an amount such as 10.00`);
  return { currency, minor };
}
