/**
 * The rate limiter of one `app_id`, in the lease owner. It spaces calls evenly, never lets more calls than the limit
 * arrive within a second, and lets a call be written only while the lease is valid.
 */
import { isDeepStrictEqual } from 'node:util';
import type { LeaseHandover, LeaseMode } from '../../contract/rate-limit.ts';
import { type LeaseHeartbeat, WINDOW_MS } from '../../domain/rate-limit.ts';
import {
  type CallEnd,
  type CallGate,
  creates,
  GatePausedError,
  GateTooLateError,
} from '../../payments/index.ts';
import type { GatedCall } from '../../payments/options.ts';
import { type Clock, sleep } from '../../runtime/runtime.ts';
import { isTokenCall, type Turn, Turns } from './turns.ts';
import { AdaptiveMargin, SendWindow, type SentCall } from './window.ts';

/** What a new owner knows about the previous one. If that one released the lease, its whole handover. */
export interface Predecessor extends Partial<LeaseHandover> {
  /** The new owner sends nothing for this long. */
  silentMs: number;
}

/** The lease of this process, until it ends. */
export interface Tenure {
  readonly mode: LeaseMode;
  /** The previous owner stopped heartbeating. */
  readonly predecessorDied?: boolean;
  /** Whether a call may be written now. While an idle lease isn't in use, nothing renews it. */
  isValid(): boolean;
  renew(): void;
}

export interface Term extends Predecessor, Tenure {
  callsPerSecond: number;
  /** Calls that create something are refused. A term is paused or not from its beginning to its end. */
  isPaused: boolean;
}

type LastSends = Pick<LeaseHandover, 'sendAgesMs' | 'unprovenForMs' | 'marginMs'>;

/** A call that got its turn. */
interface ActiveCall {
  term: Term;
  startMs: number;
  sent?: SentCall;
}

/** Below 1, so that places that become free together are used. The window enforces the rate. */
const SPACING_RATIO = 0.75;
/** The maximum delay of a late timer that later turns make up for. It grows with the rate. */
const MIN_CATCH_UP_MS = 5;
const MAX_CATCH_UP_MS = 25;
/** Between two checks of an expired lease, or of missing responses. */
const RECHECK_MS = 10;
const MAX_WAIT_MS = 1_000;
/** The maximum `Retry-After` that is respected. */
const MAX_PAUSE_MS = 60_000;
/** Fewer calls that do not reach the provider may be a coincidence. */
const MIN_FAILURES = 3;
/** A longer pause between two calls separates two times of use. */
const USE_GAP_MS = 5_000;
const NO_CALLS = { calls: 0, sinceMs: Number.POSITIVE_INFINITY };

/** Its name is in the failures that callers and operators see. */
class NotOwnerError extends Error {
  override readonly name = 'NotOwnerError';
}

export class RateLimiter implements CallGate {
  private readonly clock: Clock;
  private term: Term | undefined;
  private readonly turns = new Turns();
  private readonly window: SendWindow;
  private readonly margin = new AdaptiveMargin();
  /** Whether a call of this term reached the provider: its egress may be down, or its address not allowed. */
  reached = false;
  /** The calls since the last response that got no connection or no response, and the start of the first one. */
  private failed = NO_CALLS;
  /** Calls that got their turn and have not ended. */
  private readonly active = new Map<GatedCall, ActiveCall>();
  /** What the last term reported at its end. */
  private lastSends: LastSends | undefined;
  private turnListener: () => void = () => undefined;
  private stopTimer: () => void = () => undefined;
  private turnMs = Number.NEGATIVE_INFINITY;
  /** Whether the next call waits for a place. */
  private isAtLimit = false;
  private silentUntilMs = Number.NEGATIVE_INFINITY;
  private pausedUntilMs = Number.NEGATIVE_INFINITY;
  private widenedAtMs = Number.NEGATIVE_INFINITY;
  private usedSinceMs = Number.NEGATIVE_INFINITY;
  private usedAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, callTimeoutMs: number) {
    this.clock = clock;
    this.window = new SendWindow(callTimeoutMs);
  }

  /** Begins a term. Unused capacity of earlier terms does not carry over; their sends do. */
  open(term: Term): void {
    const now = this.clock.nowMs();
    this.term = term;
    this.turnMs = now;
    if (term.mode === 'busy') this.noteUse();
    this.silentUntilMs = now + term.silentMs;
    const { sendAgesMs = [], unprovenForMs = [], marginMs } = term;
    // The window already has the calls of an own report, and recognizes their responses.
    if (!isDeepStrictEqual({ sendAgesMs, unprovenForMs, marginMs }, this.lastSends)) {
      for (const age of sendAgesMs) this.window.addArrived(now - age);
      for (const closesInMs of unprovenForMs) this.window.addUnproven(now, closesInMs);
    }
    this.margin.start(now, marginMs);
    this.reached = false;
    this.failed = NO_CALLS;
    this.grantTurns();
  }

  /**
   * Ends the term. Resolves when calls that may still arrive occupy at most half of the limit, or after a window: the
   * next owner sees no responses to them, and needs room for calls whose responses prove that they have arrived.
   */
  async drain(): Promise<void> {
    const room = this.callsPerSecond / 2;
    const untilMs = this.clock.nowMs() + WINDOW_MS;
    this.stop();
    for (;;) {
      const now = this.clock.nowMs();
      if (now >= untilMs || this.window.unproven(now, this.margin.valueMs(now)).length <= room) return;
      await sleep(this.clock, RECHECK_MS);
    }
  }

  /** Ends the term: nothing is sent after the call, and waiting calls are refused. */
  close(): LastSends {
    this.stop();
    const now = this.clock.nowMs();
    this.lastSends = {
      sendAgesMs: this.window.ages(now, 2 * WINDOW_MS),
      unprovenForMs: this.window.unproven(now, this.margin.valueMs(now)),
      marginMs: this.margin.valueMs(now),
    };
    return this.lastSends;
  }

  heartbeat(): LeaseHeartbeat {
    const now = this.clock.nowMs();
    return {
      marginMs: this.margin.valueMs(now),
      alone: !!this.term && now >= this.silentUntilMs,
      ...(this.term && { callsPerSecond: this.term.callsPerSecond }),
    };
  }

  get callsPerSecond(): number {
    return this.term?.callsPerSecond ?? 0;
  }

  get isPaused(): boolean {
    return this.term?.isPaused ?? false;
  }

  /** The number of fetched calls that wait for their turn. Token calls do not count. */
  get waiting(): number {
    return this.turns.fetched;
  }

  /** How long all calls of this term have failed to reach the provider; zero if there are too few. */
  get unreachedMs(): number {
    const { calls, sinceMs } = this.failed;
    return calls < MIN_FAILURES ? 0 : this.clock.nowMs() - sinceMs;
  }

  /** Whether this process may fetch calls. An idle lease is renewed when one waits. */
  get isServing(): boolean {
    return this.term?.mode === 'idle' || (this.term?.isValid() ?? false);
  }

  /** Whether a call waits for its turn, or got it. */
  get isInUse(): boolean {
    return this.turns.size > 0 || this.active.size > 0;
  }

  /** How long there has been no call. */
  get unusedMs(): number {
    return this.isInUse ? 0 : this.clock.nowMs() - this.usedAtMs;
  }

  /** How long calls have followed each other, up to the last one. */
  get usedForMs(): number {
    return this.usedAtMs - this.usedSinceMs;
  }

  /** How long no call is sent: the initial silence of a new owner, or a pause after a 429. */
  get closedForMs(): number {
    return Math.max(0, this.closedUntilMs - this.clock.nowMs());
  }

  /** Calls `listener` when a fetched call gets its turn. */
  onTurn(listener: () => void): void {
    this.turnListener = listener;
  }

  /** Resolves when it is the call's turn. Rejects on a lost lease, or a deadline that cannot be met. */
  async pass(call: GatedCall): Promise<void> {
    const { deadline } = call;
    if (!this.term) throw new NotOwnerError('this process does not own the lease');
    // A call that passes gets its turn in this term or not at all, so it is never written in a later, paused one.
    if (this.term.isPaused && creates(call.operation)) throw new GatePausedError('the application is paused');
    this.noteUse();
    if (deadline !== undefined && deadline <= this.closedUntilMs) throw tooLate();
    let cancelTimer: () => void = () => undefined;
    try {
      await new Promise<void>((go, reject) => {
        const refuse = (reason: unknown) => {
          this.turns.remove(turn);
          reject(reason);
        };
        const turn: Turn = { call, go, refuse };
        if (deadline !== undefined)
          cancelTimer = this.clock.after(Math.max(0, deadline - this.clock.nowMs()), () => refuse(tooLate()));
        this.turns.add(turn);
        this.grantTurns();
      });
    } finally {
      cancelTimer();
    }
  }

  /** Called synchronously before the first byte. */
  mayWrite(call: GatedCall): boolean {
    const active = this.active.get(call);
    // A call of an earlier term has no place: other owners may have sent since.
    if (!active || active.sent || active.term !== this.term || !this.term.isValid()) return false;
    active.sent = this.window.written(call.operation, this.clock.nowMs());
    return true;
  }

  finished(call: GatedCall, end: CallEnd): void {
    const active = this.active.get(call);
    if (!active) return;
    const now = this.clock.nowMs();
    this.active.delete(call);
    if (!active.sent) this.window.dropped();
    else if (end === 'answered') this.window.answered(active.sent, now);
    else this.window.unanswered(active.sent, now);
    if (active.term === this.term) this.noteReach(end, active.startMs);
    this.grantTurns();
  }

  /** The provider responded 429: all calls wait for at least a window. */
  limited(retryAfterMs: number | undefined): void {
    const now = this.clock.nowMs();
    const pause = Math.max(WINDOW_MS + this.margin.valueMs(now), retryAfterMs ?? 0);
    this.pausedUntilMs = Math.max(this.pausedUntilMs, now + Math.min(MAX_PAUSE_MS, pause));
    for (const turn of this.turns.dueBy(this.pausedUntilMs)) turn.refuse(tooLate());
    // Widen once per burst.
    if (now - this.widenedAtMs < WINDOW_MS) return;
    this.widenedAtMs = now;
    this.margin.widen(now);
  }

  private noteReach(end: CallEnd, startMs: number): void {
    if (end === 'not-sent') return;
    const { calls, sinceMs } = this.failed;
    if (end === 'answered') [this.reached, this.failed] = [true, NO_CALLS];
    else this.failed = { calls: calls + 1, sinceMs: Math.min(sinceMs, startMs) };
  }

  private noteUse(): void {
    const now = this.clock.nowMs();
    if (now - this.usedAtMs > USE_GAP_MS) this.usedSinceMs = now;
    this.usedAtMs = now;
  }

  private stop(): void {
    this.term = undefined;
    for (const turn of this.turns.takeAll()) turn.refuse(new NotOwnerError('the lease has moved'));
  }

  private get closedUntilMs(): number {
    return Math.max(this.silentUntilMs, this.pausedUntilMs);
  }

  /** Grants all turns that are due, and sets a timer for the next one. */
  private grantTurns(): void {
    this.stopTimer();
    while (this.term && this.turns.size > 0) {
      const wait = this.msUntilTurn(this.term);
      if (wait > 0) {
        // Timers may fire a fraction of a millisecond early, so read the clock again after each wait.
        this.stopTimer = this.clock.after(Math.ceil(wait), () => this.grantTurns());
        return;
      }
      const turn = this.turns.next();
      if (turn) this.grant(turn, this.term);
    }
  }

  private grant(turn: Turn, term: Term): void {
    const now = this.clock.nowMs();
    const catchUp = Math.max(MIN_CATCH_UP_MS, Math.min(MAX_CATCH_UP_MS, term.callsPerSecond / 4));
    this.turnMs = Math.max(this.turnMs + this.spacingMs(term, now), now - catchUp);
    this.active.set(turn.call, { term, startMs: now });
    this.window.begin();
    if (this.isAtLimit) this.margin.noteAtLimit(now);
    this.isAtLimit = false;
    turn.go();
    if (!isTokenCall(turn.call)) this.turnListener();
  }

  private msUntilTurn(term: Term): number {
    if (!term.isValid()) {
      term.renew();
      return RECHECK_MS;
    }
    const now = this.clock.nowMs();
    const { margin } = this;
    const room = this.window.msUntilRoom(now, term.callsPerSecond, margin.valueMs(now), margin.trust);
    if (room > 0) this.isAtLimit = true;
    const evenly = this.turnMs + this.spacingMs(term, now) - now;
    return Math.max(this.closedUntilMs - now, Math.min(MAX_WAIT_MS, room), evenly);
  }

  private spacingMs({ callsPerSecond }: Term, nowMs: number): number {
    return (SPACING_RATIO * (WINDOW_MS + this.margin.valueMs(nowMs))) / callsPerSecond;
  }
}

function tooLate(): GateTooLateError {
  return new GateTooLateError('no turn before the deadline');
}
