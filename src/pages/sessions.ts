/**
 * The sessions of signed-in browsers. A session is in its cookie, encrypted: every process with the same keys knows it.
 * Sign-out leaves a cookie that ends the session in this browser, even if a response that is still in flight sets it again.
 * Copies of the session are refused only by the process that ended it, from memory.
 */
import { randomBytes } from 'node:crypto';
import secureSession from '@fastify/secure-session';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { networkOf } from '../runtime/addresses.ts';
import type { Clock, Runtime } from '../runtime/runtime.ts';
import { TokenBuckets } from '../runtime/token-buckets.ts';

const MAX_ENDED = 10_000;
const KEY_BYTES = 32;
const FAILURES = { burst: 10, refillMs: 6_000 };

const signedIn = z.object({
  id: z.string(),
  /** By what the user is known, such as the hash of the key. It never is the key. */
  credential: z.string(),
  startedMs: z.number(),
  usedMs: z.number(),
});

declare module '@fastify/secure-session' {
  interface SessionData {
    signedIn: z.output<typeof signedIn>;
  }
}

interface SessionOptions {
  name: string;
  path: string;
  sameSite: 'strict' | 'lax';
  /** From the start of a session to its end. Milliseconds. */
  maxMs: number;
  /** From its last use to its end. Milliseconds. */
  idleMs: number;
  /** The first encrypts, all decrypt. Undefined: a random key, so that all sessions end with this process. */
  keys: ReadonlyMap<string, Buffer> | undefined;
  isSecure(request: FastifyRequest): boolean;
}

export class CookieSessions {
  readonly #options: SessionOptions;
  readonly #clock: Clock;
  readonly #random: Runtime['random'];
  /** When the sessions that have signed out would have ended anyway, by id. */
  readonly #ended = new Map<string, number>();
  readonly #failures: TokenBuckets;

  constructor(options: SessionOptions, { clock, random }: Runtime) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#failures = new TokenBuckets(FAILURES, clock);
  }

  /** Gives each request of the scope `request.session`, which may also keep other values. */
  async serve(scope: FastifyInstance): Promise<void> {
    const { name, keys, isSecure, path, sameSite, maxMs } = this.#options;
    await scope.register(secureSession, {
      cookieName: name,
      cookie: { path, sameSite, httpOnly: true, secure: true, maxAge: maxMs / 1_000 },
      key: keys ? [...keys.values()] : randomBytes(KEY_BYTES),
    });
    scope.addHook('onRequest', async (request) => {
      request.session.options({ secure: isSecure(request) });
    });
  }

  /**
   * Counts a sign-in as failed until the returned function is called. After too many failures of the address, throws what
   * `limited` returns, even for a valid key.
   */
  attempt({ ip }: FastifyRequest, limited: (waitMs: number) => Error): () => void {
    const network = networkOf(ip);
    if (!this.#failures.take(network)) throw limited(this.#failures.waitMs(network));
    return () => this.#failures.giveBack(network);
  }

  /** Ends the session of the browser, and starts a new one. */
  start(request: FastifyRequest, credential: string): void {
    this.#remember(request);
    const { session } = request;
    session.regenerate();
    const nowMs = this.#clock.wallMs();
    const id = this.#random.uuid();
    session.set('signedIn', { id, credential, startedMs: nowMs, usedMs: nowMs });
  }

  /**
   * By what the user is known, so that a key that is removed ends its sessions. Undefined if nobody has, or the session has ended. `renews`: whether a person
   * made the request, so that the session is not idle.
   */
  use({ session, cookies }: FastifyRequest, { renews } = { renews: true }): string | undefined {
    const { data } = signedIn.safeParse(session.get('signedIn'));
    if (!data || this.#ended.has(data.id) || cookies[this.#endedCookie] === data.id) return undefined;
    const { maxMs, idleMs } = this.#options;
    // The wall clock runs on while the machine is suspended.
    const nowMs = this.#clock.wallMs();
    if (nowMs - data.startedMs >= maxMs || nowMs - data.usedMs >= idleMs) return undefined;
    if (renews) session.set('signedIn', { ...data, usedMs: nowMs });
    return data.credential;
  }

  end(reply: FastifyReply): void {
    const { request } = reply;
    const { path, sameSite, maxMs } = this.#options;
    const id = this.#remember(request);
    const options = { path, sameSite, httpOnly: true, maxAge: maxMs / 1_000 };
    if (id !== undefined) reply.setCookie(this.#endedCookie, id, options);
    request.session.delete();
  }

  get #endedCookie(): string {
    return `${this.#options.name}_ended`;
  }

  #remember({ session }: FastifyRequest): string | undefined {
    const { data } = signedIn.safeParse(session.get('signedIn'));
    if (!data) return undefined;
    const nowMs = this.#clock.wallMs();
    for (const [id, untilMs] of this.#ended) if (untilMs <= nowMs) this.#ended.delete(id);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size >= MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest);
    this.#ended.set(data.id, data.startedMs + this.#options.maxMs);
    return data.id;
  }
}
