/** The sessions of signed-in browsers. They live in the memory of this process only: a restart ends all of them. */
import { createHash } from 'node:crypto';
import type { Surroundings } from '../surroundings/surroundings.ts';

const HOUR_MS = 3_600_000;
export const SESSION_MS = 12 * HOUR_MS;
const IDLE_MS = HOUR_MS;
const ID_BYTES = 32;
const MAX_SESSIONS = 1_000;
/** So that one key cannot end the sessions of the others. */
const MAX_SESSIONS_PER_KEY = 20;

interface Session {
  keyName: string;
  startedMs: number;
  usedMs: number;
}

export class Sessions {
  readonly #surroundings: Surroundings;
  /** By the SHA-256 of the id, least recently used first. */
  readonly #sessions = new Map<string, Session>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Returns the id of a new session. If there are too many, the least recently used one ends. */
  start(keyName: string): string {
    const nowMs = this.#nowMs();
    for (const [hash, session] of this.#sessions) if (isOver(session, nowMs)) this.#sessions.delete(hash);
    const ofKey = [...this.#sessions].filter(([, session]) => session.keyName === keyName);
    const [surplus] =
      ofKey.length >= MAX_SESSIONS_PER_KEY
        ? ofKey
        : [...this.#sessions].slice(0, this.#sessions.size - MAX_SESSIONS + 1);
    if (surplus) this.#sessions.delete(surplus[0]);
    const id = Buffer.from(this.#surroundings.random.bytes(ID_BYTES)).toString('base64url');
    this.#sessions.set(hashOf(id), { keyName, startedMs: nowMs, usedMs: nowMs });
    return id;
  }

  /** The name of the key that started the session. Undefined if there is no such session, or it has ended. */
  use(id: string): string | undefined {
    const hash = hashOf(id);
    const session = this.#sessions.get(hash);
    if (session === undefined) return undefined;
    const nowMs = this.#nowMs();
    this.#sessions.delete(hash);
    if (isOver(session, nowMs)) return undefined;
    this.#sessions.set(hash, { ...session, usedMs: nowMs });
    return session.keyName;
  }

  end(id: string): void {
    this.#sessions.delete(hashOf(id));
  }

  /** The wall clock runs on while the machine is suspended. */
  #nowMs(): number {
    return this.#surroundings.clock.wallMs();
  }
}

function isOver({ startedMs, usedMs }: Session, nowMs: number): boolean {
  return nowMs - startedMs >= SESSION_MS || nowMs - usedMs >= IDLE_MS;
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('base64');
}
