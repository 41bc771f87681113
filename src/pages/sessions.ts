/**
 * The sessions of signed-in browsers, and the limit on failed sign-ins. A session is in its cookie, encrypted: every process
 * with the same keys knows it. Only the sessions that have signed out are in memory, and only in that of the process that
 * ended them.
 */
import { randomBytes } from 'node:crypto';
import type { CookieSerializeOptions } from '@fastify/cookie';
import secureSession from '@fastify/secure-session';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock, Runtime } from '../runtime/runtime.ts';
import { networkOf, TokenBuckets } from '../runtime/token-buckets.ts';

const MAX_ENDED = 10_000;
const KEY_BYTES = 32;

const signedIn = z.object({
  id: z.string(),
  /** SHA-256 in base64 of the key that has signed in, so that a key that is removed ends its sessions. */
  keyHash: z.string(),
  startedMs: z.number(),
  usedMs: z.number(),
});

declare module '@fastify/secure-session' {
  interface SessionData {
    signedIn: z.output<typeof signedIn>;
  }
}

interface SessionLimits {
  /** From the start of a session to its end. Milliseconds. */
  maxMs: number;
  /** From its last use to its end. Milliseconds. */
  idleMs: number;
}

interface SessionCookie extends Pick<CookieSerializeOptions, 'path' | 'sameSite'> {
  name: string;
  /** The first encrypts, all decrypt. Undefined: a random key, so that all sessions end with this process. */
  keys: ReadonlyMap<string, Buffer> | undefined;
  /** Whether the cookie is sent over HTTPS only. */
  isSecure(request: FastifyRequest): boolean;
}

export class CookieSessions {
  readonly #limits: SessionLimits;
  readonly #clock: Clock;
  readonly #random: Runtime['random'];
  /** When the sessions that have signed out would have ended anyway, by id. */
  readonly #ended = new Map<string, number>();

  constructor(limits: SessionLimits, { clock, random }: Runtime) {
    this.#limits = limits;
    this.#clock = clock;
    this.#random = random;
  }

  /** Gives each request of the scope `request.session`, which may also keep other values. */
  async serve(scope: FastifyInstance, { name, keys, isSecure, ...options }: SessionCookie): Promise<void> {
    await scope.register(secureSession, {
      cookieName: name,
      cookie: { ...options, httpOnly: true, secure: true, maxAge: this.#limits.maxMs / 1_000 },
      key: keys ? [...keys.values()] : randomBytes(KEY_BYTES),
    });
    scope.addHook('onRequest', async (request) => {
      request.session.options({ secure: isSecure(request) });
    });
  }

  /** Ends the session of the browser, and starts a new one. */
  start(request: FastifyRequest, keyHash: Buffer): void {
    this.#remember(request);
    const { session } = request;
    session.regenerate();
    const nowMs = this.#clock.wallMs();
    const id = this.#random.uuid();
    session.set('signedIn', { id, keyHash: keyHash.toString('base64'), startedMs: nowMs, usedMs: nowMs });
  }

  /** The SHA-256 of the key that has signed in. Undefined if nobody has, or the session has ended. */
  use({ session }: FastifyRequest): Buffer | undefined {
    const { data } = signedIn.safeParse(session.get('signedIn'));
    // The wall clock runs on while the machine is suspended.
    const nowMs = this.#clock.wallMs();
    if (!data || this.#ended.has(data.id)) return undefined;
    if (nowMs - data.startedMs >= this.#limits.maxMs || nowMs - data.usedMs >= this.#limits.idleMs)
      return undefined;
    session.set('signedIn', { ...data, usedMs: nowMs });
    return Buffer.from(data.keyHash, 'base64');
  }

  /** Also for copies of the cookie, as far as they come to this process. */
  end(request: FastifyRequest): void {
    this.#remember(request);
    request.session.delete();
  }

  #remember({ session }: FastifyRequest): void {
    const { data } = signedIn.safeParse(session.get('signedIn'));
    if (!data) return;
    const nowMs = this.#clock.wallMs();
    for (const [id, untilMs] of this.#ended) if (untilMs <= nowMs) this.#ended.delete(id);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size >= MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest);
    this.#ended.set(data.id, data.startedMs + this.#limits.maxMs);
  }
}

/** The failed sign-ins of each address. */
const FAILURES = { burst: 10, refillMs: 6_000 };

export class SignInLimit {
  readonly #failures: TokenBuckets;

  constructor(clock: Clock) {
    this.#failures = new TokenBuckets(FAILURES, clock);
  }

  /** How long the address must wait, also with a correct key. Milliseconds; 0: it need not. */
  waitMs(address: string): number {
    return this.#failures.waitMs(networkOf(address));
  }

  countFailure(address: string): void {
    this.#failures.take(networkOf(address));
  }
}
