/** Keeps floods of equal events, and text of a request, the provider or Temporal, out of the log. */
import { TooManyReadsError } from '../client/errors.ts';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import type { Clock } from '../runtime/runtime.ts';
import { Problem } from '../service/problem.ts';
import { grpcStatusOf } from '../temporal/client-errors.ts';

const INTERVAL_MS = 60_000;

export interface Counted {
  /** Start of the interval, ISO 8601. */
  since: string;
  /** Events that did not pass, by key. */
  counts: Record<string, number>;
}

/** Keeps a flood of equal events from flooding a log: the first ones pass, and the others become a count. */
export class FloodGate {
  private readonly report: (counted: Counted) => void;
  private readonly clock: Clock;
  private readonly pass: number;
  private readonly seen = new Map<string, number>();
  private since = 0;
  private cancel: (() => void) | undefined;

  /** Calls `report` at the end of each minute in which more than `pass` equal events occurred. */
  constructor(report: (counted: Counted) => void, clock: Clock = PROCESS_RUNTIME.clock, pass = 10) {
    this.report = report;
    this.clock = clock;
    this.pass = pass;
  }

  /** Whether the event may be logged. `key` must come from a small set: it must contain no input. */
  admits(key: string): boolean {
    if (!this.cancel) {
      this.since = this.clock.wallMs();
      this.cancel = this.clock.after(INTERVAL_MS, () => this.close());
    }
    const count = (this.seen.get(key) ?? 0) + 1;
    this.seen.set(key, count);
    return count <= this.pass;
  }

  close(): void {
    this.cancel?.();
    this.cancel = undefined;
    const over = [...this.seen].filter(([, count]) => count > this.pass);
    this.seen.clear();
    if (over.length === 0) return;
    const counts = Object.fromEntries(over.map(([key, count]) => [key, count - this.pass]));
    this.report({ since: new Date(this.since).toISOString(), counts });
  }
}

/** Errors whose messages contain only our own words. */
const OWN = [Problem, TooManyReadsError];
const MAX_CAUSES = 5;
const MAX_FRAMES = 5;

type Cause = ReturnType<typeof described>;

/** The error and its causes, the outermost first. */
export function causesOf(error: unknown): Cause[] {
  const causes: Cause[] = [];
  for (let next = error; next !== undefined && causes.length < MAX_CAUSES; next = causeOf(next))
    causes.push(described(next));
  return causes;
}

/** Undefined fields are not logged. */
function described(error: unknown) {
  if (!(error instanceof Error)) return { name: typeof error };
  const at = framesOf(error);
  return {
    name: wordOf(error.name) ?? 'Error',
    /** Such as `ECONNREFUSED`. */
    code: wordOf('code' in error ? error.code : undefined),
    /** Such as `DEADLINE_EXCEEDED`. */
    grpcStatus: grpcStatusOf(error),
    /** The type of a Temporal failure. */
    type: wordOf('type' in error ? error.type : undefined),
    message: OWN.some((kind) => error instanceof kind) ? error.message : undefined,
    at: at.length > 0 ? at : undefined,
  };
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

/** Codes, types and names are single words; other text may contain anything. */
function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^\w{1,64}$/.test(value) ? value : undefined;
}

/** Without the message, with which the stack begins. */
function framesOf({ stack = '', message }: Error): string[] {
  const frames = stack.slice(stack.indexOf(message) + message.length).split('\n');
  return frames
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at ') && !line.includes('node:internal'))
    .slice(0, MAX_FRAMES);
}
