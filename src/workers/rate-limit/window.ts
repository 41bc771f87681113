/**
 * The calls that the provider may still be counting. The provider counts a call when it arrives, which is later than
 * when it was sent, by a delay that nobody here can measure. But an answer proves that its request had arrived, and
 * requests arrive in about the order in which they were sent. So an answer at time `a` bounds how late each request
 * sent no later than its own request was: by `a`, minus when that request was sent, minus the fastest round trip. A
 * call takes a place for a second from its latest possible arrival; one that nothing proves, for as long as answers
 * are overdue, because a provider that reads nothing for a while counts everything at once when it goes on.
 *
 * That leaves two assumptions. A call does not arrive earlier than a call that was sent before it, by more than the
 * margin. And among the last minute's round trips of an operation, one was about as fast as it can be.
 *
 * Times are of one monotonic clock, in milliseconds.
 */
import { WINDOW_MS } from '../../domain/rate-limit-lease.ts';
import { RoundTrips } from './round-trips.ts';

/** One call that was written. */
export interface SentCall {
  readonly operation: string;
  readonly sentAtMs: number;
  /** The most by which its arrival was late; undefined while nothing proves that it arrived. */
  lateMs: number | undefined;
}

export class SendWindow {
  /** In the order in which they were sent. */
  private sends: SentCall[] = [];
  /** Calls that may be written at any moment: each takes a place until it is written or given up. */
  private pending = 0;
  private readonly roundTrips = new RoundTrips();
  private readonly mostLateMs: number;

  /** `mostLateMs`: no call arrives later than this, whatever its answer proves. */
  constructor(mostLateMs = Number.POSITIVE_INFINITY) {
    this.mostLateMs = mostLateMs;
  }

  /** A call got its turn. */
  begin(): void {
    this.pending += 1;
  }

  /** One of those that got their turn was written. */
  written(operation: string, nowMs: number): SentCall {
    this.pending -= 1;
    return this.insert({ operation, sentAtMs: nowMs, lateMs: undefined });
  }

  /** One of those that got their turn will not be written. */
  dropped(): void {
    this.pending -= 1;
  }

  /** The provider answered. That proves that this call, and those sent before it, have arrived. */
  answered(call: SentCall, nowMs: number): void {
    this.roundTrips.observe(call.operation, nowMs - call.sentAtMs, nowMs);
    const fastestMs = this.roundTrips.fastestMs(call.operation);
    for (const sent of this.sends) {
      if (sent.sentAtMs > call.sentAtMs) break;
      proveArrived(sent, nowMs - fastestMs);
    }
  }

  /** Nobody waits for an answer any more, and the connection is closed: it has arrived by now, or never will. */
  unanswered(call: SentCall, nowMs: number): void {
    proveArrived(call, nowMs);
  }

  /** A call that another process sent, or this one in an earlier term: it arrived by `byMs`. */
  note(byMs: number): void {
    this.insert({ operation: '', sentAtMs: byMs, lateMs: 0 });
  }

  /**
   * Milliseconds until one more call may get its turn: then no second can hold more than `limit` arrivals, whenever
   * the pending ones are written. Calls may arrive `marginMs` later than proved. Infinity: not before a pending one is
   * written or given up.
   */
  msUntilRoom(nowMs: number, limit: number, marginMs: number): number {
    const overdueMs = this.overdueMs(nowMs);
    const freeAt = ({ sentAtMs, lateMs = overdueMs }: SentCall) =>
      sentAtMs + Math.min(lateMs, this.mostLateMs) + marginMs + WINDOW_MS;
    this.sends = this.sends.filter((call) => call.lateMs === undefined || freeAt(call) > nowMs);
    const taken = this.sends.map(freeAt).filter((at) => at > nowMs);
    const over = taken.length + this.pending - limit;
    if (over < 0) return 0;
    const freed = taken.sort((one, two) => one - two)[over];
    return freed === undefined ? Number.POSITIVE_INFINITY : freed - nowMs;
  }

  /** How long ago each call of the last `spanMs` arrived at the latest. */
  ages(nowMs: number, spanMs: number): number[] {
    return this.sends
      .map(({ sentAtMs, lateMs }) => (lateMs === undefined ? 0 : Math.max(0, nowMs - sentAtMs - lateMs)))
      .filter((ageMs) => ageMs < spanMs);
  }

  /** How long ago the first answer that is missing was due. */
  private overdueMs(nowMs: number): number {
    const due = this.sends
      .filter(({ lateMs }) => lateMs === undefined)
      .map(({ operation, sentAtMs }) => sentAtMs + this.roundTrips.fastestMs(operation));
    return Math.max(0, nowMs - Math.min(nowMs, ...due));
  }

  private insert(call: SentCall): SentCall {
    let at = this.sends.length;
    while (at > 0 && (this.sends[at - 1]?.sentAtMs ?? 0) > call.sentAtMs) at -= 1;
    this.sends.splice(at, 0, call);
    return call;
  }
}

function proveArrived(call: SentCall, byMs: number): void {
  const lateMs = Math.max(0, byMs - call.sentAtMs);
  call.lateMs = Math.min(call.lateMs ?? lateMs, lateMs);
}
