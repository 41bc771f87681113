/**
 * The `state` of an attempt to authorize. It needs no memory: an encrypted time, bound to the application and to the
 * browser that began, which nobody without the key can make up. So a callback that we did not cause costs nothing.
 */
import { KeyRing } from '../encryption/key-ring.ts';
import { PROCESS_SURROUNDINGS } from '../surroundings/process.ts';
import type { Random } from '../surroundings/surroundings.ts';

/** As long as a code lives at most: an attempt that takes longer could not be finished anyway. */
const EXPIRES_MS = 30 * 60_000;
/** The clocks of two API servers. */
const CLOCKS_DIFFER_MS = 5 * 60_000;
const SHAPE = /^([\w-]{1,64})\.([\w-]{1,128})$/;

export type StateValidity = 'valid' | 'expired' | 'unknown';

export class AttemptStates {
  private readonly environment: string;
  private readonly ring: KeyRing;
  private readonly random: Random;

  /** Without token keys, which only a test against loopback may lack, states are valid in this process only. */
  constructor(environment: string, ring?: KeyRing, random: Random = PROCESS_SURROUNDINGS.random) {
    this.environment = environment;
    this.random = random;
    this.ring = ring ?? new KeyRing(new Map([['process', Buffer.from(random.bytes(32))]]));
  }

  /** `browser` is a secret that only the browser holds. */
  issue(app: string, browser: string, nowMs: number): string {
    const sealed = this.ring.encrypt(Buffer.from(`${nowMs}`), this.random, this.about(app, browser));
    return `${this.ring.current}.${sealed.toString('base64url')}`;
  }

  /** `unknown`: not from us, or for another application or browser. */
  check(app: string, browser: string, state: string, nowMs: number): StateValidity {
    const issuedAtMs = this.issuedAtMs(app, browser, state);
    if (issuedAtMs === undefined || issuedAtMs > nowMs + CLOCKS_DIFFER_MS) return 'unknown';
    return nowMs < issuedAtMs + EXPIRES_MS ? 'valid' : 'expired';
  }

  private issuedAtMs(app: string, browser: string, state: string): number | undefined {
    const [, keyId, sealed] = SHAPE.exec(state) ?? [];
    if (keyId === undefined || sealed === undefined) return undefined;
    try {
      const plain = this.ring.decrypt(keyId, Buffer.from(sealed, 'base64url'), this.about(app, browser));
      return Number(plain.toString());
    } catch {
      return undefined;
    }
  }

  private about(app: string, browser: string): string {
    return JSON.stringify(['state', this.environment, app, browser]);
  }
}
