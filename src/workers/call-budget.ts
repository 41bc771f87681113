/**
 * One application's call budget inside its owner: calls leave evenly spaced, never more than the limit in any sliding
 * second, and none unless the lease counts at the very moment of writing.
 */
import { type Released, WINDOW_MS } from '../domain/rate-limit-lease.ts';
import type { CallGate } from '../payments/index.ts';
import { AdaptiveMargin } from './budget/margin.ts';
import { SendWindow } from './budget/send-window.ts';
import { type GatedCall, isTokenCall, type Turn, Turns } from './budget/turns.ts';

/** Thrown into calls that wait when this process is not, or no longer, the owner: nothing was sent. */
export class NotOwnerError extends Error {
  override readonly name = 'NotOwnerError';
}

export interface Term {
  callsPerSecond: number;
  /** Whether the lease counts now. */
  counts(): boolean;
  /** Nothing leaves for this long. */
  silentMs: number;
  /** The last words of the owner before: its sends are still being counted. */
  before?: Released | undefined;
  learnedMarginMs?: number | undefined;
}

/** A little faster than even, so that a late timer is made up for; the window alone sets the rate. */
const SPACING_PART = 0.9;
/** A turn that a late timer has missed is caught up with by at most this much; by more where steps are tiny. */
const CATCH_UP_MS = 5;
const MOST_CATCH_UP_MS = 25;
/** How soon a lapsed lease, or a place held by a call that connects, is looked at again. */
const LOOK_AGAIN_MS = 10;
const LONGEST_WAIT_MS = 1_000;
/** However long the service asks us to wait: an hour would be a misunderstanding. */
const LONGEST_PAUSE_MS = 60_000;

export class CallBudget implements CallGate {
  private term: Term | undefined;
  private readonly turns = new Turns();
  private readonly window = new SendWindow();
  private readonly arrivalJitterMs: number;
  private readonly margin: AdaptiveMargin;
  /** Calls that passed and have neither been written nor given up. */
  private readonly passed = new Set<GatedCall>();
  private onSpent: () => void = () => undefined;
  private timer: NodeJS.Timeout | undefined;
  private turnMs = Number.NEGATIVE_INFINITY;
  private closedUntilMs = Number.NEGATIVE_INFINITY;
  private widenedAtMs = Number.NEGATIVE_INFINITY;

  /** `arrivalJitterMs`: by how much the times that calls need to reach the service are known to differ. */
  constructor(arrivalJitterMs = 0) {
    this.arrivalJitterMs = arrivalJitterMs;
    this.margin = new AdaptiveMargin(performance.now(), arrivalJitterMs);
  }

  /** Begins a term: no credit is carried over, only debts. */
  open(term: Term): void {
    const now = performance.now();
    this.term = term;
    this.turnMs = now;
    const silentMs = term.silentMs === 0 ? 0 : term.silentMs + this.arrivalJitterMs;
    this.closedUntilMs = Math.max(this.closedUntilMs, now + silentMs);
    for (const age of term.before?.sendAgesMs ?? []) this.window.note(now - age);
    this.margin.start(now, term.before?.marginMs ?? term.learnedMarginMs);
    this.look();
  }

  /** From this very moment nothing leaves any more. Whoever waits is refused. */
  close(): Released {
    const now = performance.now();
    this.term = undefined;
    for (const turn of this.turns.takeAll()) turn.refuse(new NotOwnerError('the budget has moved'));
    return { sendAgesMs: this.window.ages(now, 2 * WINDOW_MS), marginMs: this.learnedMarginMs };
  }

  get learnedMarginMs(): number {
    return this.margin.learned(performance.now());
  }

  get callsPerSecond(): number {
    return this.term?.callsPerSecond ?? 0;
  }

  /** Fetched calls that wait for their turn. */
  get waiting(): number {
    return this.turns.fetched;
  }

  /** Whether a call that is fetched now could leave soon. */
  opensWithin(ms: number): boolean {
    return this.term?.counts() === true && this.closedUntilMs - performance.now() <= ms;
  }

  /** Told whenever a fetched call has had its turn. */
  whenSpent(told: () => void): void {
    this.onSpent = told;
  }

  /** Resolves when the call may leave. Rejects when it is aborted while it waits, or when the budget moves. */
  pass(call: GatedCall): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal } = call;
      const onAbort = () => turn.refuse(signal?.reason);
      const turn: Turn = {
        call,
        go: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        refuse: (reason) => {
          signal?.removeEventListener('abort', onAbort);
          this.turns.leave(turn);
          reject(reason);
        },
      };
      if (!this.term) return turn.refuse(new NotOwnerError('this process does not own the budget'));
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.turns.add(turn);
      this.look();
    });
  }

  /** Asked right before the first byte, with nothing in between: the lease is looked at once more. */
  mayWrite(call: GatedCall): boolean {
    if (!this.passed.has(call) || !this.term?.counts()) return false;
    this.passed.delete(call);
    this.window.sent(performance.now());
    return true;
  }

  /** The exchange is over, or never came about. */
  over(call: GatedCall): void {
    if (!this.passed.delete(call)) return;
    this.window.dropped();
    this.look();
  }

  /** A 429: the service counts otherwise than we do. Everybody waits for at least a window. */
  limited(retryAfterMs: number | undefined): void {
    const now = performance.now();
    const pause = Math.max(WINDOW_MS + this.margin.valueMs(now), retryAfterMs ?? 0);
    this.closedUntilMs = Math.max(this.closedUntilMs, now + Math.min(LONGEST_PAUSE_MS, pause));
    // Several of one burst are one lesson.
    if (now - this.widenedAtMs < WINDOW_MS) return;
    this.widenedAtMs = now;
    this.margin.widen(now);
  }

  /** Lets go whoever may, and comes back when the next one may. */
  private look(): void {
    clearTimeout(this.timer);
    while (this.term && this.turns.size > 0) {
      const wait = this.msUntilTurn(this.term);
      if (wait > 0) {
        this.lookIn(wait);
        return;
      }
      this.letGo(this.turns.next());
    }
  }

  private letGo(turn: Turn | undefined): void {
    if (!turn || !this.term) return;
    const { callsPerSecond } = this.term;
    const catchUp = Math.max(CATCH_UP_MS, Math.min(MOST_CATCH_UP_MS, callsPerSecond / 4));
    this.turnMs = Math.max(this.turnMs + this.spacingMs(callsPerSecond), performance.now() - catchUp);
    this.passed.add(turn.call);
    this.window.begin();
    turn.go();
    if (!isTokenCall(turn.call)) this.onSpent();
  }

  private msUntilTurn({ callsPerSecond, counts }: Term): number {
    if (!counts()) return LOOK_AGAIN_MS;
    const now = performance.now();
    const span = WINDOW_MS + this.margin.valueMs(now);
    const room = Math.min(LONGEST_WAIT_MS, this.window.msUntilRoom(now, callsPerSecond, span));
    const evenly = this.turnMs + this.spacingMs(callsPerSecond) - now;
    return Math.max(this.closedUntilMs - now, room, evenly);
  }

  private spacingMs(callsPerSecond: number): number {
    return (SPACING_PART * (WINDOW_MS + this.margin.valueMs(performance.now()))) / callsPerSecond;
  }

  /** Timers fire early by a fraction of a millisecond, so the clock is read again after each wait. */
  private lookIn(ms: number): void {
    const dueMs = performance.now() + Math.ceil(ms);
    this.timer = setTimeout(() => {
      this.margin.late(performance.now() - dueMs);
      this.look();
    }, Math.ceil(ms));
  }
}
