/** The search attribute `PayoutKeys`: the hashes that a start writes into it, and the conditions that find them. */
import type { SearchAttributePair } from '@temporalio/common';
import { SEARCHED, type Searched } from '../contract/lists.ts';
import { formatMoney } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { SearchKeys } from '../encryption/search-keys.ts';
import { SEARCH_KEYS } from '../temporal/namespace.ts';
import { quoteIds } from '../temporal/visibility.ts';
import { InvalidPayoutRequestError } from './errors.ts';

const same = (text: string) => text;
/** A name in capitals or full-width letters, or with two spaces, is the same name. */
const folded = (text: string) => text.normalize('NFKC').toLowerCase().trim().replace(/\s+/g, ' ');
const END_LENGTH = 4;
const unseparated = (text: string) => text.replace(/[\s-]/g, '').toUpperCase();

/** All hashes of a payout are within Temporal's limit of 2 KiB for an attribute. */
const MAX_WORDS = 10;

/** Without punctuation, so that `Toys, Ltd.` and `toys ltd` are the same words. */
function wordsOf(text: string): string[] {
  const words = folded(text).split(/[^\p{L}\p{M}\p{N}]+/u);
  return [...new Set(words.filter((word) => word !== ''))].slice(0, MAX_WORDS);
}

/** Texts that are the same in this form find each other. */
const NORMAL: Readonly<Record<keyof Searched, (text: string) => readonly string[]>> = {
  clientId: one(same),
  payerId: one(same),
  batch: one(same),
  amount: one(same),
  beneficiary: one(folded),
  beneficiaryWords: wordsOf,
  account: one(unseparated),
  accountEnd: one((text) => unseparated(text).slice(-END_LENGTH)),
  metadata: one(folded),
};

function one(normal: (text: string) => string) {
  return (text: string) => [normal(text)];
}

/** Undefined without keys: then no search finds the payout. */
export function hashesOf(
  keys: SearchKeys | undefined,
  { clientId, payerId, instructedAmount, receiver, metadata }: CheckedPayoutRequest,
  batch?: string,
): string[] | undefined {
  const searched = {
    clientId,
    payerId,
    batch,
    amount: formatMoney(instructedAmount),
    beneficiary: receiver.bankAccountName,
    beneficiaryWords: receiver.bankAccountName,
    account: receiver.bankAccountNumber,
    accountEnd: receiver.bankAccountNumber,
    metadata: Object.entries(metadata ?? {}).map(([key, value]) => `${key}=${value}`),
  };
  return keys?.written(textsOf(searched));
}

export function hashesAttribute(hashes: string[] | undefined): SearchAttributePair[] {
  return hashes ? [{ key: SEARCH_KEYS, value: hashes }] : [];
}

/** Throws `InvalidPayoutRequestError` if the filter needs keys, and there are none. */
export function searchConditions(keys: SearchKeys | undefined, searched: Searched): string[] {
  const texts = textsOf(searched);
  if (keys) return texts.map((text) => `PayoutKeys IN (${quoteIds(keys.asked(text))})`);
  if (texts.length === 0) return [];
  const message = 'needs PAYOUTS_SEARCH_KEYS, which is not set';
  const fields = SEARCHED.filter((field) => searched[field] !== undefined);
  throw new InvalidPayoutRequestError(fields.map((path) => ({ path, message })));
}

/** Finds the payouts that any of these batches has started. */
export function batchesCondition(keys: SearchKeys, batches: readonly string[]): string {
  const hashes = batches.flatMap((batch) => textsOf({ batch })).flatMap((text) => keys.asked(text));
  return `PayoutKeys IN (${quoteIds(hashes)})`;
}

/** With the name of the field, so that equal values of two fields have different hashes. */
function textsOf(searched: Searched): string[] {
  return SEARCHED.flatMap((field) =>
    [searched[field] ?? []]
      .flat()
      .flatMap((value) => NORMAL[field](value))
      .map((value) => `${field}:${value}`),
  );
}
