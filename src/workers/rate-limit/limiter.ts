/**
 * The rate limit of one `app_id`, inside the lease owner: calls leave evenly spaced, no second holds more arrivals than
 * the limit, and nothing leaves unless the lease counts at the very moment of writing.
 */
import { type LeaseHandover, type LeaseHeartbeat, WINDOW_MS } from '../../domain/rate-limit-lease.ts';
import { type CallEnd, type CallGate, GateTooLateError } from '../../payments/index.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { AdaptiveMargin } from './margin.ts';
import { Reach } from './reach.ts';
import { type GatedCall, isTokenCall, type Turn, Turns } from './turns.ts';
import { SendWindow, type SentCall } from './window.ts';

/** Thrown into calls that wait while this process is not, or no longer, the lease owner: nothing was sent. */
export class NotOwnerError extends Error {
  override readonly name = 'NotOwnerError';
}

export interface Term {
  callsPerSecond: number;
  /** Whether the lease counts now. */
  counts(): boolean;
  /** Nothing leaves for this long. */
  silentMs: number;
  /** The last words of the previous owner: its sends are still being counted. */
  before?: LastSends | undefined;
  learnedMarginMs?: number | undefined;
}

/** What the next owner has to know about this one's calls. */
export type LastSends = Pick<LeaseHandover, 'sendAgesMs' | 'marginMs'>;

/** A call that got its turn. */
interface UnderWay {
  term: Term;
  beganMs: number;
  /** Present once it was written. */
  sent?: SentCall;
}

/** Closer than even, so that places which become free together are used; the window alone sets the rate. */
const SPACING_PART = 0.75;
/** A turn that a late timer has missed is caught up with by at most this much; by more where steps are tiny. */
const CATCH_UP_MS = 5;
const MOST_CATCH_UP_MS = 25;
/** How soon a lapsed lease is looked at again. */
const LOOK_AGAIN_MS = 10;
const LONGEST_WAIT_MS = 1_000;
/** However long the provider asks us to wait: an hour would be a misunderstanding. */
const LONGEST_PAUSE_MS = 60_000;

export class RateLimiter implements CallGate {
  private readonly clock: Clock;
  private term: Term | undefined;
  private readonly turns = new Turns();
  private readonly window: SendWindow;
  private readonly margin: AdaptiveMargin;
  private readonly reach = new Reach();
  /** Calls that got their turn and have neither ended nor been given up. */
  private readonly underWay = new Map<GatedCall, UnderWay>();
  private onSpent: () => void = () => undefined;
  private stopTimer: () => void = () => undefined;
  private turnMs = Number.NEGATIVE_INFINITY;
  private silentUntilMs = Number.NEGATIVE_INFINITY;
  private pausedUntilMs = Number.NEGATIVE_INFINITY;
  private widenedAtMs = Number.NEGATIVE_INFINITY;

  /** `mostLateMs`: no call arrives later than this, by the operator's word. */
  constructor(clock: Clock, mostLateMs = Number.POSITIVE_INFINITY) {
    this.clock = clock;
    this.window = new SendWindow(mostLateMs);
    this.margin = new AdaptiveMargin(clock.nowMs());
  }

  /** Begins a term: no credit is carried over, only debts. */
  open(term: Term): void {
    const now = this.clock.nowMs();
    this.term = term;
    this.turnMs = now;
    this.silentUntilMs = now + term.silentMs;
    for (const age of term.before?.sendAgesMs ?? []) this.window.note(now - age);
    this.margin.start(now, term.before?.marginMs ?? term.learnedMarginMs);
    this.reach.begin();
    this.look();
  }

  /** From this moment nothing leaves. Calls that wait are refused. */
  close(): LastSends {
    const now = this.clock.nowMs();
    this.term = undefined;
    for (const turn of this.turns.takeAll()) turn.refuse(new NotOwnerError('the lease has moved'));
    return { sendAgesMs: this.window.ages(now, 2 * WINDOW_MS), marginMs: this.margin.valueMs(now) };
  }

  note(): LeaseHeartbeat {
    const now = this.clock.nowMs();
    return { marginMs: this.margin.valueMs(now), alone: !!this.term && now >= this.silentUntilMs };
  }

  get callsPerSecond(): number {
    return this.term?.callsPerSecond ?? 0;
  }

  /** Fetched calls that wait for their turn. */
  get waiting(): number {
    return this.turns.fetched;
  }

  /** How long nothing but failures to reach the provider has come of this term's calls. */
  get unreachedMs(): number {
    return this.reach.unreachedMs(this.clock.nowMs());
  }

  /** Whether any call of this term was answered. */
  get reached(): boolean {
    return this.reach.reached;
  }

  /** Whether this process owns the lease, and it counts now. */
  get counts(): boolean {
    return this.term?.counts() ?? false;
  }

  /** For how long no call leaves: the silence of a new owner, or a pause that the provider asked for. */
  get closedForMs(): number {
    return Math.max(0, this.closedUntilMs - this.clock.nowMs());
  }

  /** Told whenever a fetched call has had its turn. */
  whenSpent(told: () => void): void {
    this.onSpent = told;
  }

  /**
   * Resolves when it is the call's turn. Rejects when the call is aborted while it waits, when the lease moves, and as
   * soon as it is known that the turn cannot come before the call's deadline.
   */
  pass(call: GatedCall): Promise<void> {
    return new Promise((resolve, reject) => {
      const { signal, deadline } = call;
      let cancelTimer: () => void = () => undefined;
      const settled = () => {
        signal?.removeEventListener('abort', onAbort);
        cancelTimer();
      };
      const turn: Turn = {
        call,
        go: () => {
          settled();
          resolve();
        },
        refuse: (reason) => {
          settled();
          this.turns.leave(turn);
          reject(reason);
        },
      };
      const onAbort = () => turn.refuse(signal?.reason);
      if (!this.term) return turn.refuse(new NotOwnerError('this process does not own the lease'));
      if (signal?.aborted) return onAbort();
      const waitsAtMostMs = deadline === undefined ? undefined : deadline - this.clock.nowMs();
      if (deadline !== undefined && deadline <= this.closedUntilMs) return turn.refuse(tooLate());
      signal?.addEventListener('abort', onAbort, { once: true });
      if (waitsAtMostMs !== undefined)
        cancelTimer = this.clock.after(Math.max(0, waitsAtMostMs), () => turn.refuse(tooLate()));
      this.turns.add(turn);
      this.look();
    });
  }

  /** Asked right before the first byte, with nothing in between: the lease is checked once more. */
  mayWrite(call: GatedCall): boolean {
    const underWay = this.underWay.get(call);
    // A call of an earlier term holds no place: other owners may have sent in the meantime.
    if (!underWay || underWay.sent || underWay.term !== this.term || !this.term.counts()) return false;
    underWay.sent = this.window.written(call.operation, this.clock.nowMs());
    return true;
  }

  /** The exchange has ended, or never came about. */
  finished(call: GatedCall, end: CallEnd): void {
    const underWay = this.underWay.get(call);
    if (!underWay) return;
    const now = this.clock.nowMs();
    this.underWay.delete(call);
    if (!underWay.sent) this.window.dropped();
    else if (end === 'answered') this.window.answered(underWay.sent, now);
    else this.window.unanswered(underWay.sent, now);
    if (underWay.term === this.term) {
      if (end === 'answered') this.reach.answered();
      else if (end !== 'not-sent') this.reach.failed(underWay.beganMs);
    }
    this.look();
  }

  /** A 429: the provider counts otherwise than we do. Everybody waits for at least a window. */
  limited(retryAfterMs: number | undefined): void {
    const now = this.clock.nowMs();
    const pause = Math.max(WINDOW_MS + this.margin.valueMs(now), retryAfterMs ?? 0);
    this.pausedUntilMs = Math.max(this.pausedUntilMs, now + Math.min(LONGEST_PAUSE_MS, pause));
    for (const turn of this.turns.takeDueBy(this.pausedUntilMs)) turn.refuse(tooLate());
    // Several of one burst are one lesson.
    if (now - this.widenedAtMs < WINDOW_MS) return;
    this.widenedAtMs = now;
    this.margin.widen(now);
  }

  private get closedUntilMs(): number {
    return Math.max(this.silentUntilMs, this.pausedUntilMs);
  }

  /** Gives a turn to whoever may have one, and comes back when the next one may. */
  private look(): void {
    this.stopTimer();
    while (this.term && this.turns.size > 0) {
      const wait = this.msUntilTurn(this.term);
      if (wait > 0) {
        // Timers fire early by a fraction of a millisecond, so the clock is read again after each wait.
        this.stopTimer = this.clock.after(Math.ceil(wait), () => this.look());
        return;
      }
      const turn = this.turns.next();
      if (turn) this.letGo(turn, this.term);
    }
  }

  private letGo(turn: Turn, term: Term): void {
    const now = this.clock.nowMs();
    const catchUp = Math.max(CATCH_UP_MS, Math.min(MOST_CATCH_UP_MS, term.callsPerSecond / 4));
    this.turnMs = Math.max(this.turnMs + this.spacingMs(term, now), now - catchUp);
    this.underWay.set(turn.call, { term, beganMs: now });
    this.window.begin();
    turn.go();
    if (!isTokenCall(turn.call)) this.onSpent();
  }

  private msUntilTurn(term: Term): number {
    if (!term.counts()) return LOOK_AGAIN_MS;
    const now = this.clock.nowMs();
    const room = this.window.msUntilRoom(now, term.callsPerSecond, this.margin.valueMs(now));
    const evenly = this.turnMs + this.spacingMs(term, now) - now;
    return Math.max(this.closedUntilMs - now, Math.min(LONGEST_WAIT_MS, room), evenly);
  }

  private spacingMs({ callsPerSecond }: Term, nowMs: number): number {
    return (SPACING_PART * (WINDOW_MS + this.margin.valueMs(nowMs))) / callsPerSecond;
  }
}

function tooLate(): GateTooLateError {
  return new GateTooLateError('no turn before the deadline');
}
