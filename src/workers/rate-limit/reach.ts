/**
 * Whether the calls of this process reach the provider. A process may be connected to Temporal and still be unable to
 * call: its egress is down, or its address is not on the provider's allow-list.
 */

/** One or two failures may be a coincidence. */
const LEAST_FAILURES = 3;

export class Reach {
  /** Whether any call of this term was answered. */
  reached = false;
  private failures = 0;
  private firstBeganMs = Number.POSITIVE_INFINITY;

  /** A new term: nothing is known. */
  begin(): void {
    this.reached = false;
    this.forgetFailures();
  }

  /** Any answer proves that calls arrive, whatever it says. */
  answered(): void {
    this.reached = true;
    this.forgetFailures();
  }

  /** A call that began at this moment found no connection, or got no answer. */
  failed(beganMs: number): void {
    this.failures += 1;
    this.firstBeganMs = Math.min(this.firstBeganMs, beganMs);
  }

  /** How long nothing but failures has come of the calls; zero when that is not certain. */
  unreachedMs(nowMs: number): number {
    return this.failures < LEAST_FAILURES ? 0 : nowMs - this.firstBeganMs;
  }

  private forgetFailures(): void {
    this.failures = 0;
    this.firstBeganMs = Number.POSITIVE_INFINITY;
  }
}
