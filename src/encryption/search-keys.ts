/** Keyed hashes, by which Temporal finds payouts without knowing what they are about. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** Of 64 digits. With the longest metadata, all hashes of a payout are within Temporal's limit of 2 KiB for an attribute. */
const HEX_DIGITS = 32;

export class SearchKeys {
  readonly #keys: readonly KeyObject[];

  /** At least one key of 32 bytes. New payouts get hashes under the first one. */
  constructor(keys: ReadonlyMap<string, Buffer>) {
    this.#keys = [...keys.values()].map((key) => createSecretKey(key));
  }

  /** What a start writes. The order does not tell which hash is of what. */
  written(texts: readonly string[]): string[] {
    return this.#keys.slice(0, 1).flatMap((key) => texts.map((text) => hash(key, text)).sort());
  }

  /** Any of these finds a payout with this text: another key may have been the first at its start. */
  asked(text: string): string[] {
    return this.#keys.map((key) => hash(key, text));
  }
}

function hash(key: KeyObject, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex').slice(0, HEX_DIGITS);
}
