/** Ground truth for tests: every call and every create that arrived, and its effect. */
import { type Clock, isoTime } from '../runtime.ts';
import type { TokenState } from './tokens.ts';

export interface CallRecord {
  at: string;
  atMs: number;
  operation: string;
  appId: string | null;
  partnerOrderId: string | null;
  /** HTTP status, `dropped`, or null while it is being served. */
  status: number | 'dropped' | null;
  /** The envelope's code; null without an envelope. */
  code: number | string | null;
  token: TokenState | 'not-needed';
  fault: string | null;
}

export type CreateEffect = 'pending' | 'committed' | 'refused' | 'dropped';

export interface CreateRecord {
  at: string;
  atMs: number;
  body: string;
  partnerOrderId: string | null;
  orderId: string | null;
  effect: CreateEffect;
  /** Age of the lock when the order was created. */
  lockAgeMs: number | null;
  answered: number | 'dropped' | null;
  code: number | string | null;
}

// A create holds its body of about a kilobyte, so fewer of them are kept.
const KEPT_CALLS = 200_000;
const KEPT_CREATES = 50_000;

export class Ledger {
  readonly calls = new RingLog<CallRecord>(KEPT_CALLS);
  readonly creates = new RingLog<CreateRecord>(KEPT_CREATES);
  readonly callsByOperation = new Map<string, number>();
  answered429 = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  call(operation: string): CallRecord {
    const record: CallRecord = {
      ...this.#now(),
      operation,
      appId: null,
      partnerOrderId: null,
      status: null,
      code: null,
      token: 'not-needed',
      fault: null,
    };
    this.calls.add(record);
    this.callsByOperation.set(operation, (this.callsByOperation.get(operation) ?? 0) + 1);
    return record;
  }

  create(body: string, partnerOrderId: string | null): CreateRecord {
    const record: CreateRecord = {
      ...this.#now(),
      body,
      partnerOrderId,
      orderId: null,
      effect: 'pending',
      lockAgeMs: null,
      answered: null,
      code: null,
    };
    this.creates.add(record);
    return record;
  }

  reset(): void {
    this.calls.clear();
    this.creates.clear();
    this.callsByOperation.clear();
    this.answered429 = 0;
  }

  #now(): { at: string; atMs: number } {
    return { at: isoTime(this.#clock.wallMs()), atMs: this.#clock.nowMs() };
  }
}

export class RingLog<Entry> {
  readonly #capacity: number;
  #entries: Entry[] = [];
  #dropped = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    // Trim rarely and in bulk: shifting an array of this size for every entry costs far more.
    if (this.#entries.length < this.#capacity * 1.25) return;
    const surplus = this.#entries.length - this.#capacity;
    this.#entries = this.#entries.slice(surplus);
    this.#dropped += surplus;
  }

  list(): readonly Entry[] {
    return this.#entries;
  }

  /** How many entries were ever added. */
  get total(): number {
    return this.#dropped + this.#entries.length;
  }

  clear(): void {
    this.#entries = [];
    this.#dropped = 0;
  }
}
