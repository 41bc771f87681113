/** What it means that the provider refuses an account check or a quote. */
import type { QuoteMeaning } from '../../contract/provider-records.ts';
import {
  IllegalParameterError,
  InvalidRequestError,
  MalformedAnswerError,
  OrderNotExistError,
  type PaymentsError,
  RefusedError,
  UnauthorizedError,
} from '../../payments/index.ts';
import type { QuoteAnswer } from '../shared/types.ts';

/** The provider has answered, and the same request may get the same answer forever. */
const REFUSALS = [
  RefusedError,
  IllegalParameterError,
  OrderNotExistError,
  UnauthorizedError,
  MalformedAnswerError,
];

/** Throws any other error: the activity is retried while the provider does not serve calls. */
export function refusedQuote(
  error: unknown,
  quoteCodes: ReadonlyMap<string, QuoteMeaning>,
): QuoteAnswer & { kind: 'refused' } {
  // Our own check.
  if (error instanceof InvalidRequestError)
    return { kind: 'refused', meaning: 'refused', message: error.message };
  const refusal = REFUSALS.map((one) => (error instanceof one ? error : undefined)).find(Boolean);
  if (!refusal) throw error;
  const { serviceCode = '', httpStatus } = refusal;
  const meaning = quoteCodes.get(serviceCode) ?? quoteCodes.get(`http:${httpStatus}`);
  return { kind: 'refused', ...(meaning && { meaning }), message: inItsWords(refusal) };
}

function inItsWords(refusal: PaymentsError): string {
  const words = refusal.providerMessage();
  return words === undefined ? refusal.message : `${refusal.message}: ${words}`;
}
