/**
 * The calls that may still be in the provider's window. The provider counts a call when it arrives: some time after the
 * send, and nobody here can measure that time. But a response proves that its request has arrived, and requests arrive in
 * about the order in which they were sent. So a response at time `t` limits the delay of each request that was sent no
 * later than its own: to `t`, minus the send time, minus the fastest round trip. A call occupies a place for a second
 * after its latest possible arrival. If no response proves its arrival, it occupies its place while responses are overdue,
 * because a provider that stops reading counts everything at once when it resumes.
 *
 * Two assumptions remain. A call does not arrive before an earlier call by more than the margin. And among the last
 * minute's round trips of an operation, one was about as fast as possible. With trust, a third one is tried: what a round
 * trip usually takes beyond the fastest one is the provider's time, and not the request's.
 *
 * Times are milliseconds on one monotonic clock.
 */
import { WINDOW_MS } from '../../domain/rate-limit.ts';

export interface SentCall {
  readonly operation: string;
  readonly sentAtMs: number;
  /** The delay of its arrival; undefined while nothing proves that it arrived. */
  late: Lateness | undefined;
  /** When its connection is closed at the latest: then it has arrived, or never will. */
  readonly closesAtMs: number;
}

/** How late a call arrived. */
interface Lateness {
  /** At most: everything beyond the fastest round trip was the request's. */
  maxMs: number;
  /** If what round trips usually take beyond the fastest one was the provider's. */
  trustedMs: number;
}

/** The operation of a call of another process. */
const INHERITED = '';

export class SendWindow {
  /** In the order of their sends. */
  private sends: SentCall[] = [];
  /** Calls that may be written at any time. Each occupies a place until it is written or dropped. */
  private pending = 0;
  private readonly roundTrips = new RoundTrips();
  private readonly callTimeoutMs: number;

  /** `callTimeoutMs`: the client closes the connection of a call after this time without a response. */
  constructor(callTimeoutMs: number) {
    this.callTimeoutMs = callTimeoutMs;
  }

  /** A call got its turn. */
  begin(): void {
    this.pending += 1;
  }

  /** A pending call was written. */
  written(operation: string, nowMs: number): SentCall {
    this.pending -= 1;
    return this.insert(operation, nowMs, nowMs + this.callTimeoutMs);
  }

  /** A pending call will not be written. */
  dropped(): void {
    this.pending -= 1;
  }

  /** The provider responded. This proves that this call and all earlier ones have arrived. */
  answered(call: SentCall, nowMs: number): void {
    this.roundTrips.observe(call.operation, nowMs - call.sentAtMs, nowMs);
    const { fastestMs, usualMs } = this.roundTrips.estimate(call.operation);
    for (const sent of this.sends) {
      if (sent.sentAtMs > call.sentAtMs) break;
      proveArrived(sent, nowMs - fastestMs, usualMs);
    }
  }

  /** The client closed the connection without a response: the call has arrived by now, or never will. */
  unanswered(call: SentCall, nowMs: number): void {
    proveArrived(call, nowMs);
  }

  /** Adds a call of another process or an earlier term, which arrived by `byMs`. */
  addArrived(byMs: number): void {
    this.insert(INHERITED, byMs, byMs, { maxMs: 0, trustedMs: 0 });
  }

  /**
   * Adds a call of another process that may still arrive. A response to any later call proves that it arrived. If none
   * comes, it has arrived or never will once its connection is closed, in `closesInMs`.
   */
  addUnproven(nowMs: number, closesInMs: number): void {
    this.insert(INHERITED, nowMs, nowMs + closesInMs);
  }

  /**
   * Milliseconds until one more call may get its turn, so that no second contains more than `limit` arrivals, whenever
   * the pending calls are written. Calls may arrive `marginMs` later than proved, or earlier by `trust`, from 0 to 1, of
   * what the provider usually takes. Infinity: not before a pending call is written or dropped.
   */
  msUntilRoom(nowMs: number, limit: number, marginMs: number, trust: number): number {
    for (const call of this.sends) {
      const { operation, late, closesAtMs } = call;
      // Only its own process sees the response to an inherited call.
      if (operation === INHERITED && !late && closesAtMs <= nowMs) proveArrived(call, closesAtMs);
    }
    const latest = this.freeAt(nowMs, marginMs, 0);
    this.sends = this.sends.filter((call) => !call.late || latest(call) > nowMs);
    const taken = this.sends.map(this.freeAt(nowMs, marginMs, trust)).filter((at) => at > nowMs);
    const over = taken.length + this.pending - limit;
    if (over < 0) return 0;
    const freed = taken.sort((one, two) => one - two)[over];
    return freed === undefined ? Number.POSITIVE_INFINITY : freed - nowMs;
  }

  /** The minimum time since the arrival of each call that is proved to have arrived in the last `spanMs`. */
  ages(nowMs: number, spanMs: number): number[] {
    return this.sends
      .flatMap(({ sentAtMs, late }) => (late ? Math.max(0, nowMs - sentAtMs - late.maxMs) : []))
      .filter((ageMs) => ageMs < spanMs);
  }

  /** For each call that may still arrive and occupies a place: how long its connection may stay open. */
  unproven(nowMs: number, marginMs: number): number[] {
    const freeAt = this.freeAt(nowMs, marginMs, 0);
    return this.sends
      .filter((call) => !call.late && freeAt(call) > nowMs)
      .map(({ closesAtMs }) => Math.max(0, closesAtMs - nowMs));
  }

  /** When a call no longer occupies a place, as far as is known now. */
  private freeAt(nowMs: number, marginMs: number, trust: number): (call: SentCall) => number {
    const overdueMs = this.overdueMs(nowMs);
    return ({ sentAtMs, late }) => {
      const lateMs = late ? late.maxMs - trust * (late.maxMs - late.trustedMs) : overdueMs;
      return sentAtMs + lateMs + marginMs + WINDOW_MS;
    };
  }

  /** For how long the oldest missing response has been overdue. */
  private overdueMs(nowMs: number): number {
    const due = this.sends
      .filter(({ late }) => !late)
      .map(({ operation, sentAtMs }) => sentAtMs + this.roundTrips.estimate(operation).fastestMs);
    return Math.max(0, nowMs - Math.min(nowMs, ...due));
  }

  private insert(operation: string, sentAtMs: number, closesAtMs: number, late?: Lateness): SentCall {
    const call = { operation, sentAtMs, closesAtMs, late };
    this.sends.splice(this.sends.findLastIndex((sent) => sent.sentAtMs <= sentAtMs) + 1, 0, call);
    return call;
  }
}

function proveArrived(call: SentCall, byMs: number, usualMs = 0): void {
  const lateMs = byMs - call.sentAtMs;
  const { maxMs, trustedMs } = call.late ?? { maxMs: lateMs, trustedMs: lateMs };
  call.late = {
    maxMs: Math.max(0, Math.min(maxMs, lateMs)),
    trustedMs: Math.max(0, Math.min(trustedMs, lateMs - usualMs)),
  };
}

/** The estimate covers one to two spans, so that it adapts when the provider becomes slower. */
const SPAN_MS = 60_000;
/** With fewer round trips, there is no estimate. */
const MIN_ROUND_TRIPS = 30;
/** The fastest of `n` round trips exceeds the fastest possible by about their spread divided by `n`. */
const SPREADS = 3;

interface Estimate {
  /** Zero without an estimate: the request may have been late by the whole round trip. */
  fastestMs: number;
  /** How much longer round trips usually take, at most: twice the mean, as if they were spread evenly. */
  usualMs: number;
}

interface Sample {
  fastestMs: number;
  sumMs: number;
  count: number;
}

interface Operation {
  sinceMs: number;
  current: Sample;
  previous: Sample;
}

const EMPTY: Sample = { fastestMs: Number.POSITIVE_INFINITY, sumMs: 0, count: 0 };

/** Estimates the fastest possible round trip of each operation. Whatever exceeds it may have delayed the request. */
export class RoundTrips {
  private readonly operations = new Map<string, Operation>();

  observe(operation: string, tookMs: number, nowMs: number): void {
    let known = this.operations.get(operation) ?? { sinceMs: nowMs, current: EMPTY, previous: EMPTY };
    if (nowMs - known.sinceMs >= SPAN_MS) known = { sinceMs: nowMs, current: EMPTY, previous: known.current };
    const one = { fastestMs: tookMs, sumMs: tookMs, count: 1 };
    this.operations.set(operation, { ...known, current: merged(known.current, one) });
  }

  estimate(operation: string): Estimate {
    const known = this.operations.get(operation) ?? { current: EMPTY, previous: EMPTY };
    const { fastestMs, sumMs, count } = merged(known.current, known.previous);
    if (count < MIN_ROUND_TRIPS) return { fastestMs: 0, usualMs: 0 };
    const spreadMs = sumMs / count - fastestMs;
    return { fastestMs: Math.max(0, fastestMs - (SPREADS * spreadMs) / count), usualMs: 2 * spreadMs };
  }
}

function merged(one: Sample, other: Sample): Sample {
  return {
    fastestMs: Math.min(one.fastestMs, other.fastestMs),
    sumMs: one.sumMs + other.sumMs,
    count: one.count + other.count,
  };
}

const MIN_MS = 15;
const MAX_MS = 60;
const WIDENING_MS = 15;
/** The margin shrinks by 1 ms in this time. */
const SHRINKS_EVERY_MS = 120_000;
/** After this many calls at the limit without a 429, trust is full. */
const TRUSTED_CALLS = 200;

/**
 * How much later than round trips prove a call may arrive, because of lost packets for example. A 429 widens it, and ends
 * trust. Once the margin is as small as possible again, each call at the limit adds trust.
 */
export class AdaptiveMargin {
  private learnedMs = MIN_MS;
  private changedAtMs = 0;
  private callsAtLimit = 0;

  /** Begins a term, with the margin of the previous owner if it is known. */
  start(nowMs: number, learnedMs: number | undefined): void {
    if (learnedMs !== undefined && Number.isFinite(learnedMs)) this.learn(learnedMs, nowMs);
  }

  widen(nowMs: number): void {
    this.learn(this.valueMs(nowMs) + WIDENING_MS, nowMs);
  }

  valueMs(nowMs: number): number {
    return clamp(this.learnedMs - (nowMs - this.changedAtMs) / SHRINKS_EVERY_MS);
  }

  /** A call had to wait for a place. */
  noteAtLimit(nowMs: number): void {
    if (this.valueMs(nowMs) === MIN_MS) this.callsAtLimit += 1;
  }

  /** How much of what the provider usually takes is no delay of the request: from 0 to 1. */
  get trust(): number {
    return Math.min(1, this.callsAtLimit / TRUSTED_CALLS);
  }

  private learn(ms: number, nowMs: number): void {
    this.learnedMs = clamp(ms);
    this.changedAtMs = nowMs;
    if (this.learnedMs > MIN_MS) this.callsAtLimit = 0;
  }
}

function clamp(ms: number): number {
  return Math.min(MAX_MS, Math.max(MIN_MS, ms));
}
