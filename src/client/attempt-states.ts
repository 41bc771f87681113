/**
 * The OAuth `state` of an authorization attempt. It is stateless: an encrypted time, bound to the application and to the
 * browser that started the attempt. Without the key, it cannot be forged, so a forged callback costs nothing.
 */
import { KeyRing } from '../encryption/key-ring.ts';
import { PROCESS_SURROUNDINGS } from '../surroundings/process.ts';
import type { Random } from '../surroundings/surroundings.ts';

/** The maximum lifetime of an authorization code. A longer attempt cannot succeed. */
const EXPIRES_MS = 30 * 60_000;
/** The tolerated difference between the clocks of two API servers. */
const CLOCK_SKEW_MS = 5 * 60_000;
const SHAPE = /^([\w-]{1,64})\.([\w-]{1,128})$/;

export type StateValidity = 'valid' | 'expired' | 'unknown';

export class AttemptStates {
  private readonly environment: string;
  private readonly ring: KeyRing;
  private readonly random: Random;

  /** Without token keys, which is possible only in a test against loopback, states are valid in this process only. */
  constructor(environment: string, ring?: KeyRing, random: Random = PROCESS_SURROUNDINGS.random) {
    this.environment = environment;
    this.random = random;
    this.ring = ring ?? new KeyRing(new Map([['process', Buffer.from(random.bytes(32))]]));
  }

  /** Issues a state. `browser` is a secret that only the browser has. */
  issue(app: string, browser: string, nowMs: number): string {
    const sealed = this.ring.encrypt(Buffer.from(`${nowMs}`), this.random, this.bindingOf(app, browser));
    return `${this.ring.current}.${sealed.toString('base64url')}`;
  }

  /** Checks a state. `unknown`: not issued by us, or for another application or browser. */
  check(app: string, browser: string, state: string, nowMs: number): StateValidity {
    const issuedAtMs = this.issuedAtMs(app, browser, state);
    if (issuedAtMs === undefined || issuedAtMs > nowMs + CLOCK_SKEW_MS) return 'unknown';
    return nowMs < issuedAtMs + EXPIRES_MS ? 'valid' : 'expired';
  }

  private issuedAtMs(app: string, browser: string, state: string): number | undefined {
    const [, keyId, sealed] = SHAPE.exec(state) ?? [];
    if (keyId === undefined || sealed === undefined) return undefined;
    try {
      const plain = this.ring.decrypt(keyId, Buffer.from(sealed, 'base64url'), this.bindingOf(app, browser));
      return Number(plain.toString());
    } catch {
      return undefined;
    }
  }

  private bindingOf(app: string, browser: string): string {
    return JSON.stringify(['state', this.environment, app, browser]);
  }
}
