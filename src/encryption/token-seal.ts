/**
 * Seals the secrets of an application's tokens for the histories of `tokenRenewal`: a second encryption, under keys that
 * the codec server does not hold. A sealed secret is bound to its owner and purpose and cannot be used for another.
 */
import { createHash } from 'node:crypto';
import type { TokenOwner } from '../contract/tokens.ts';
import type { Random } from '../runtime/runtime.ts';
import { type KeyRing, UndecipherableError } from './key-ring.ts';

/** `s1.KEY_ID.BASE64`. */
type Sealed = string;
type Purpose = 'access' | 'refresh' | 'code';

/** Marks a secret that a process without token keys wrote: only in a test against loopback. */
const PLAIN = 'plain.';

export class TokenSeal {
  private readonly ring: KeyRing | undefined;
  private readonly random: Random;

  constructor(ring: KeyRing | undefined, random: Random) {
    this.ring = ring;
    this.random = random;
  }

  seal(secret: string, owner: TokenOwner, purpose: Purpose): Sealed {
    if (!this.ring) return PLAIN + secret;
    const sealed = this.ring.encrypt(Buffer.from(secret), this.random, bindingOf(owner, purpose));
    return `s1.${this.ring.current}.${sealed.toString('base64')}`;
  }

  /** Throws `UnknownKeyError`, or `UndecipherableError` for a secret of another owner or purpose. */
  open(sealed: Sealed, owner: TokenOwner, purpose: Purpose): string {
    if (!this.ring && sealed.startsWith(PLAIN)) return sealed.slice(PLAIN.length);
    const [version, keyId, base64] = sealed.split('.');
    if (!this.ring || version !== 's1' || keyId === undefined || base64 === undefined)
      throw new UndecipherableError();
    return this.ring.decrypt(keyId, Buffer.from(base64, 'base64'), bindingOf(owner, purpose)).toString();
  }
}

/** Identifies a token without revealing it. Tokens are random, so a hash reveals nothing about them. */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 16);
}

function bindingOf({ environment, app, openId }: TokenOwner, purpose: Purpose): string {
  return JSON.stringify([purpose, environment, app, openId ?? null]);
}
