/** AES-256-GCM keys by id. The first key encrypts and all keys decrypt, so that keys can be rotated. */
import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject } from 'node:crypto';
import type { TokenOwner } from '../contract/tokens.ts';
import type { Random } from '../runtime/runtime.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Thrown for a key that this process does not have. The key may be added later, so the operation can be retried. */
export class UnknownKeyError extends Error {
  override readonly name = 'UnknownKeyError';
  readonly keyId: string;
  constructor(keyId: string) {
    super(`the encryption key ${JSON.stringify(keyId.slice(0, 64))} is not available in this process`);
    this.keyId = keyId;
  }
}

/** Thrown for a ciphertext that the key did not encrypt, or that was modified. */
export class UndecipherableError extends Error {
  override readonly name = 'UndecipherableError';
  constructor() {
    super('the ciphertext was not encrypted with this key, or was modified');
  }
}

export class KeyRing {
  /** As key objects, because Node 24 takes six times as long to set up a cipher from the bytes. */
  readonly #keys: ReadonlyMap<string, KeyObject>;
  /** The id of the key that encrypts. */
  readonly current: string;
  /** Called at each encryption, with the id of the key: a key wears out, because nonces are random. */
  onEncrypt: (keyId: string) => void = () => undefined;

  /** At least one key of 32 bytes. The first key encrypts. */
  constructor(keys: ReadonlyMap<string, Buffer>) {
    const [current] = keys.keys();
    if (current === undefined) throw new Error('a key ring needs at least one key');
    this.#keys = new Map([...keys].map(([id, key]) => [id, createSecretKey(key)]));
    this.current = current;
  }

  get ids(): string[] {
    return [...this.#keys.keys()];
  }

  /** Returns nonce, ciphertext and tag. `binding` is authenticated, but not included. */
  encrypt(plain: Uint8Array, random: Random, binding = ''): Buffer {
    const nonce = random.bytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key(this.current), nonce);
    cipher.setAAD(Buffer.from(binding));
    this.onEncrypt(this.current);
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  /** Throws `UnknownKeyError` or `UndecipherableError`. */
  decrypt(keyId: string, sealed: Uint8Array, binding = ''): Buffer {
    const key = this.#key(keyId);
    if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new UndecipherableError();
    const end = sealed.length - TAG_BYTES;
    try {
      const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES));
      decipher.setAAD(Buffer.from(binding));
      decipher.setAuthTag(sealed.subarray(end));
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, end)), decipher.final()]);
    } catch {
      throw new UndecipherableError();
    }
  }

  #key(keyId: string): KeyObject {
    const key = this.#keys.get(keyId);
    if (!key) throw new UnknownKeyError(keyId);
    return key;
  }
}

/** `s1.KEY_ID.BASE64`. */
type Sealed = string;
type Purpose = 'access' | 'refresh' | 'code';

/** Marks a secret that a process without token keys wrote: only in a test against loopback. */
const PLAIN = 'plain.';

export class TokenSeal {
  readonly #ring: KeyRing | undefined;
  readonly #random: Random;

  constructor(ring: KeyRing | undefined, random: Random) {
    this.#ring = ring;
    this.#random = random;
  }

  seal(secret: string, owner: TokenOwner, purpose: Purpose): Sealed {
    if (!this.#ring) return PLAIN + secret;
    const sealed = this.#ring.encrypt(Buffer.from(secret), this.#random, bindingOf(owner, purpose));
    return `s1.${this.#ring.current}.${sealed.toString('base64')}`;
  }

  /** Throws `UnknownKeyError`, or `UndecipherableError` for a secret of another owner or purpose. */
  open(sealed: Sealed, owner: TokenOwner, purpose: Purpose): string {
    if (!this.#ring && sealed.startsWith(PLAIN)) return sealed.slice(PLAIN.length);
    const [version, keyId, base64] = sealed.split('.');
    if (!this.#ring || version !== 's1' || keyId === undefined || base64 === undefined)
      throw new UndecipherableError();
    return this.#ring.decrypt(keyId, Buffer.from(base64, 'base64'), bindingOf(owner, purpose)).toString();
  }
}

/** Identifies a token without revealing it. Tokens are random, so a hash reveals nothing about them. */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 16);
}

function bindingOf({ environment, app, openId }: TokenOwner, purpose: Purpose): string {
  return JSON.stringify([purpose, environment, app, openId ?? null]);
}
