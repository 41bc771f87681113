/** Keeps a flood of equal events from flooding a log: the first ones pass, and the others become a count. */
import { PROCESS_SURROUNDINGS } from '../../runtime/process.ts';
import type { Clock } from '../../runtime/runtime.ts';

const INTERVAL_MS = 60_000;
const PASS_PER_KEY = 10;

export interface Counted {
  /** Start of the interval, ISO 8601. */
  since: string;
  /** Events that did not pass, by key. */
  counts: Record<string, number>;
}

export class FloodGate {
  private readonly report: (counted: Counted) => void;
  private readonly clock: Clock;
  private readonly seen = new Map<string, number>();
  private since = 0;
  private cancel: (() => void) | undefined;

  /** Calls `report` at the end of each minute in which events did not pass. */
  constructor(
    report: (counted: Counted) => void,
    { clock = PROCESS_SURROUNDINGS.clock }: { clock?: Clock } = {},
  ) {
    this.report = report;
    this.clock = clock;
  }

  /** Whether the event may be logged. `key` must come from a small set: it must contain no input. */
  admits(key: string): boolean {
    if (!this.cancel) {
      this.since = this.clock.wallMs();
      this.cancel = this.clock.after(INTERVAL_MS, () => this.close());
    }
    const count = (this.seen.get(key) ?? 0) + 1;
    this.seen.set(key, count);
    return count <= PASS_PER_KEY;
  }

  /** Ends the interval. */
  close(): void {
    this.cancel?.();
    this.cancel = undefined;
    const over = [...this.seen].filter(([, count]) => count > PASS_PER_KEY);
    this.seen.clear();
    if (over.length === 0) return;
    const counts = Object.fromEntries(over.map(([key, count]) => [key, count - PASS_PER_KEY]));
    this.report({ since: new Date(this.since).toISOString(), counts });
  }
}
