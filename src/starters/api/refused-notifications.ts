/**
 * Logs refused notifications as counts: at most one line per minute and application, because anybody can send them. A line
 * has nothing of a notification: the reasons are our own words, and applications are those of the configuration.
 */
import type { Callers } from '../../config/callers.ts';
import { type EventLogger, logEvent } from '../../domain/telemetry.ts';
import type { Clock } from '../../runtime/runtime.ts';

const INTERVAL_MS = 60_000;
/** Of all applications that no key names: the sender chooses the path. */
const OTHER = 'other';

interface Interval {
  sinceMs: number;
  counts: Map<string, number>;
  cancel: () => void;
}

export interface RefusedParts {
  log: EventLogger;
  clock: Clock;
  callers: Pick<Callers, 'keys'>;
}

export class RefusedNotifications {
  private readonly parts: RefusedParts;
  private readonly intervals = new Map<string, Interval>();

  constructor(parts: RefusedParts) {
    this.parts = parts;
  }

  /**
   * The first notification of an application leaves a line at once; the others are counted up to the end of the minute.
   * `reason` must come from a small set, and contain no input.
   */
  count(app: string, reason: string): void {
    const name = this.isKnown(app) ? app : OTHER;
    const running = this.intervals.get(name);
    const counts = running?.counts ?? new Map<string, number>();
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
    if (!running) this.write(name, { sinceMs: this.parts.clock.wallMs(), counts });
  }

  /** Writes the counts that are left. */
  close(): void {
    for (const [name, { sinceMs, counts, cancel }] of this.intervals) {
      cancel();
      this.log(name, sinceMs, counts);
    }
    this.intervals.clear();
  }

  /** Writes a line, and counts for the next one. */
  private write(name: string, { sinceMs, counts }: Pick<Interval, 'sinceMs' | 'counts'>): void {
    this.log(name, sinceMs, counts);
    const { clock } = this.parts;
    const next = { sinceMs: clock.wallMs(), counts: new Map<string, number>() };
    const end = () => {
      this.intervals.delete(name);
      if (next.counts.size > 0) this.write(name, next);
    };
    this.intervals.set(name, { ...next, cancel: clock.after(INTERVAL_MS, end) });
  }

  private log(app: string, sinceMs: number, counts: ReadonlyMap<string, number>): void {
    if (counts.size === 0) return;
    const since = new Date(sinceMs).toISOString();
    logEvent(this.parts.log, 'notifications.refused', { app, since, counts: Object.fromEntries(counts) });
  }

  private isKnown(app: string): boolean {
    return (
      app === 'default' ||
      this.parts.callers.keys.some(
        ({ caller }) => caller.applications !== 'any' && caller.applications.includes(app),
      )
    );
  }
}
