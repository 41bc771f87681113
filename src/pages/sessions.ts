/**
 * The sessions of signed-in browsers, and the limit on failed sign-ins. Sessions live in the memory of this process only:
 * a restart ends all of them.
 */
import { createHash } from 'node:crypto';
import type { Clock, Runtime } from '../runtime/runtime.ts';
import { networkOf, TokenBuckets } from '../runtime/token-buckets.ts';

const ID_BYTES = 32;
const MAX_SESSIONS = 1_000;
/** So that one key cannot end the sessions of the others. */
const MAX_SESSIONS_PER_KEY = 20;

interface SessionLimits {
  /** From the start of a session to its end. Milliseconds. */
  maxMs: number;
  /** From its last use to its end. Milliseconds. */
  idleMs: number;
}

interface Session<Holder> {
  holder: Holder;
  startedMs: number;
  usedMs: number;
}

/** `keyName` is the name of the key that started the session. */
export class Sessions<Holder extends { keyName: string }> {
  readonly #limits: SessionLimits;
  readonly #runtime: Runtime;
  /** By the SHA-256 of the id, least recently used first. */
  readonly #sessions = new Map<string, Session<Holder>>();

  constructor(limits: SessionLimits, runtime: Runtime) {
    this.#limits = limits;
    this.#runtime = runtime;
  }

  /** Returns the id of a new session. If there are too many, the least recently used one ends. */
  start(holder: Holder): string {
    const nowMs = this.#nowMs();
    for (const [hash, session] of this.#sessions)
      if (this.#isOver(session, nowMs)) this.#sessions.delete(hash);
    const ofKey = [...this.#sessions].filter(([, session]) => session.holder.keyName === holder.keyName);
    const [surplus] =
      ofKey.length >= MAX_SESSIONS_PER_KEY
        ? ofKey
        : [...this.#sessions].slice(0, this.#sessions.size - MAX_SESSIONS + 1);
    if (surplus) this.#sessions.delete(surplus[0]);
    const id = Buffer.from(this.#runtime.random.bytes(ID_BYTES)).toString('base64url');
    this.#sessions.set(hashOf(id), { holder, startedMs: nowMs, usedMs: nowMs });
    return id;
  }

  /** Undefined if there is no such session, or it has ended. */
  use(id: string): Holder | undefined {
    const hash = hashOf(id);
    const session = this.#sessions.get(hash);
    if (session === undefined) return undefined;
    const nowMs = this.#nowMs();
    this.#sessions.delete(hash);
    if (this.#isOver(session, nowMs)) return undefined;
    this.#sessions.set(hash, { ...session, usedMs: nowMs });
    return session.holder;
  }

  end(id: string): void {
    this.#sessions.delete(hashOf(id));
  }

  /** The wall clock runs on while the machine is suspended. */
  #nowMs(): number {
    return this.#runtime.clock.wallMs();
  }

  #isOver({ startedMs, usedMs }: Session<Holder>, nowMs: number): boolean {
    const { maxMs, idleMs } = this.#limits;
    return nowMs - startedMs >= maxMs || nowMs - usedMs >= idleMs;
  }
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('base64');
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
