/** Bearer keys of the API server and of the codec server. The configuration keeps only their hashes. */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface HashedKey {
  /** SHA-256 of the key, 32 bytes. */
  hash: Buffer;
}

export function keyHash(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The key in an `authorization` header. Undefined if the header is missing or has another form. */
export function bearerKey(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

/** The entry of a key, if `keys` contains it. */
export function findKey<Key extends HashedKey>(keys: readonly Key[], key: string): Key | undefined {
  const given = keyHash(key);
  // Compares with every key, each in constant time, so that the timing reveals nothing about the keys.
  const [known] = keys.filter(({ hash }) => timingSafeEqual(hash, given));
  return known;
}
