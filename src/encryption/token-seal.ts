/** Seals and opens the secrets of one application's tokens. */
import { createHash } from 'node:crypto';
import type { TokenOwner } from '../domain/token-record.ts';
import type { Random } from '../surroundings/surroundings.ts';
import { type KeyRing, UndecipherableError } from './key-ring.ts';
import { type Sealed, seal, unseal } from './sealed.ts';

/** Marks what a process without token keys wrote: only ever in a test against loopback. */
const PLAIN = 'plain.';

export class TokenSeal {
  private readonly ring: KeyRing | undefined;
  private readonly random: Random;

  constructor(ring: KeyRing | undefined, random: Random) {
    this.ring = ring;
    this.random = random;
  }

  seal(secret: string, owner: TokenOwner, what: 'access' | 'refresh' | 'code'): Sealed {
    return this.ring ? seal(this.ring, this.random, secret, about(owner, what)) : PLAIN + secret;
  }

  /** Throws `UnknownKeyError`, or `UndecipherableError` for what was sealed for somebody or something else. */
  open(sealed: Sealed, owner: TokenOwner, what: 'access' | 'refresh' | 'code'): string {
    if (this.ring) return unseal(this.ring, sealed, about(owner, what));
    if (!sealed.startsWith(PLAIN)) throw new UndecipherableError();
    return sealed.slice(PLAIN.length);
  }
}

/** Tells tokens apart without showing them: they are random, so a hash says nothing about them. */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 16);
}

function about({ environment, app, openId }: TokenOwner, what: string): string {
  return JSON.stringify([what, environment, app, openId ?? null]);
}
