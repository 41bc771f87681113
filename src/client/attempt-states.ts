/**
 * The link with which an authorization attempt starts, and its OAuth `state`. Both are stateless: an encrypted time, bound
 * to the application and, for a state, to the browser that started the attempt. Without the key, they cannot be forged, so
 * a forged request costs nothing. Every API server with the same keys accepts them.
 */
import { KeyRing } from '../encryption/key-ring.ts';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import type { Random } from '../runtime/runtime.ts';

/** The maximum lifetime of an authorization code. A longer attempt cannot succeed. */
const EXPIRES_MS = 30 * 60_000;
/** A user may get the link by mail. The retention must be longer: the workflow of a used link refuses a second use. */
const LINK_EXPIRES_MS = 12 * 3_600_000;
/** The tolerated difference between the clocks of two API servers. */
const CLOCK_SKEW_MS = 5 * 60_000;
const SHAPE = /^([\w-]{1,64})\.([\w-]{1,128})$/;

export type StateValidity = 'valid' | 'expired' | 'unknown';

export class AttemptStates {
  private readonly environment: string;
  private readonly ring: KeyRing;
  private readonly random: Random;

  /** Without token keys, which is possible only in a test against loopback, both are valid in this process only. */
  constructor(environment: string, ring?: KeyRing, random: Random = PROCESS_RUNTIME.random) {
    this.environment = environment;
    this.random = random;
    this.ring = ring ?? new KeyRing(new Map([['process', Buffer.from(random.bytes(32))]]));
  }

  /** Issues a state. `browser` is a secret that only the browser has. */
  issue(app: string, browser: string, nowMs: number): string {
    return this.seal(this.bindingOf(app, browser), nowMs);
  }

  issueLink(app: string, nowMs: number): { link: string; expiresAtMs: number } {
    return { link: this.seal(this.linkBindingOf(app), nowMs), expiresAtMs: nowMs + LINK_EXPIRES_MS };
  }

  /** Checks a state. `unknown`: not issued by us, or for another application or browser. */
  check(app: string, browser: string, state: string, nowMs: number): StateValidity {
    return this.validity(this.bindingOf(app, browser), state, nowMs, EXPIRES_MS);
  }

  /** Checks a link, not whether it was used. `unknown`: not issued by us, or for another application. */
  checkLink(app: string, link: string, nowMs: number): StateValidity {
    return this.validity(this.linkBindingOf(app), link, nowMs, LINK_EXPIRES_MS);
  }

  private seal(binding: string, nowMs: number): string {
    const sealed = this.ring.encrypt(Buffer.from(`${nowMs}`), this.random, binding);
    return `${this.ring.current}.${sealed.toString('base64url')}`;
  }

  private validity(binding: string, text: string, nowMs: number, expiresMs: number): StateValidity {
    const issuedAtMs = this.issuedAtMs(binding, text);
    if (issuedAtMs === undefined || issuedAtMs > nowMs + CLOCK_SKEW_MS) return 'unknown';
    return nowMs < issuedAtMs + expiresMs ? 'valid' : 'expired';
  }

  private issuedAtMs(binding: string, text: string): number | undefined {
    const [, keyId, sealed] = SHAPE.exec(text) ?? [];
    if (keyId === undefined || sealed === undefined) return undefined;
    try {
      return Number(this.ring.decrypt(keyId, Buffer.from(sealed, 'base64url'), binding).toString());
    } catch {
      return undefined;
    }
  }

  private linkBindingOf(app: string): string {
    return JSON.stringify(['link', this.environment, app]);
  }

  private bindingOf(app: string, browser: string): string {
    return JSON.stringify(['state', this.environment, app, browser]);
  }
}
