/** Keys for AES-256-GCM by id: the first encrypts, all decrypt, so that keys rotate without losing anything. */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import type { Random } from '../surroundings/surroundings.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Thrown for a key that this process does not hold. It may hold it later, so nothing is given up. */
export class UnknownKeyError extends Error {
  override readonly name = 'UnknownKeyError';
  readonly keyId: string;
  constructor(keyId: string) {
    super(`the encryption key ${JSON.stringify(keyId.slice(0, 64))} is not held here`);
    this.keyId = keyId;
  }
}

/** Thrown for what a key that is held did not encrypt, or what was changed since. */
export class UndecipherableError extends Error {
  override readonly name = 'UndecipherableError';
  constructor() {
    super('the ciphertext does not belong to this key, or was changed');
  }
}

export class KeyRing {
  /** As key objects: Node 24 takes six times as long to begin with the bytes themselves. */
  private readonly keys: ReadonlyMap<string, KeyObject>;
  /** The id of the key that encrypts. */
  readonly current: string;

  /** Keys of 32 bytes, the one that encrypts first; at least one. */
  constructor(keys: ReadonlyMap<string, Buffer>) {
    const [current] = keys.keys();
    if (current === undefined) throw new Error('a key ring needs a key');
    this.keys = new Map([...keys].map(([id, key]) => [id, createSecretKey(key)]));
    this.current = current;
  }

  /** In order; never the keys. */
  get ids(): string[] {
    return [...this.keys.keys()];
  }

  /** Nonce, ciphertext and tag, one after the other. `about` is bound to it without being in it. */
  encrypt(plain: Uint8Array, random: Random, about = ''): Buffer {
    const nonce = random.bytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.key(this.current), nonce);
    cipher.setAAD(Buffer.from(about));
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  /** Throws `UnknownKeyError` or `UndecipherableError`. */
  decrypt(keyId: string, sealed: Uint8Array, about = ''): Buffer {
    const key = this.key(keyId);
    if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new UndecipherableError();
    const end = sealed.length - TAG_BYTES;
    try {
      const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES));
      decipher.setAAD(Buffer.from(about));
      decipher.setAuthTag(sealed.subarray(end));
      return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, end)), decipher.final()]);
    } catch {
      throw new UndecipherableError();
    }
  }

  private key(keyId: string): KeyObject {
    const key = this.keys.get(keyId);
    if (!key) throw new UnknownKeyError(keyId);
    return key;
  }
}
