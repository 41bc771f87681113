/**
 * Tokens as they stand in the histories of `tokenRenewal`: sealed a second time, under keys that the codec
 * server does not hold, and bound to whom they belong to, so that a token of one can never pass for another's.
 */
import type { Random } from '../surroundings/surroundings.ts';
import { type KeyRing, UndecipherableError } from './key-ring.ts';

/** `s1.KEY_ID.BASE64`. */
export type Sealed = string;

/** `about` names environment, application and user; only the same text opens it again. */
export function seal(ring: KeyRing, random: Random, secret: string, about: string): Sealed {
  return `s1.${ring.current}.${ring.encrypt(Buffer.from(secret), random, about).toString('base64')}`;
}

/** Throws `UnknownKeyError` or `UndecipherableError`. */
export function unseal(ring: KeyRing, sealed: Sealed, about: string): string {
  const [version, keyId, base64] = sealed.split('.');
  if (version !== 's1' || keyId === undefined || base64 === undefined) throw new UndecipherableError();
  return ring.decrypt(keyId, Buffer.from(base64, 'base64'), about).toString();
}
