/**
 * The trace of the work that is being done: its W3C context (`traceparent`), and the spans that describe it. Without a
 * tracer, nothing here costs more than a comparison, and no package of OpenTelemetry is loaded.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { TraceParent } from '../domain/telemetry.ts';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanStart {
  name: string;
  kind: 'server' | 'client' | 'internal' | 'consumer';
  /** Default: the span of the current work. Without either, the span begins a trace. */
  parent?: TraceParent | undefined;
  /** Spans of other traces that led to this one. */
  links?: readonly TraceParent[];
  attributes?: Attributes;
  /** Unix milliseconds. Default: now. */
  startMs?: number;
  /** The id of the span, if others have announced it. 16 hex digits. */
  spanId?: string;
}

export interface Span {
  readonly context: TraceParent;
  /** `problem`: a code that says how the work failed. `endMs`: Unix milliseconds; default: now. */
  end(attributes?: Attributes, problem?: string, endMs?: number): void;
}

export interface Tracer {
  start(span: SpanStart): Span;
}

const current = new AsyncLocalStorage<TraceParent>();
let tracer: Tracer | undefined;

/** Without an argument, tracing ends. */
export function useTracer(used?: Tracer): void {
  tracer = used;
}

export function isTracing(): boolean {
  return tracer !== undefined;
}

export function currentTrace(): TraceParent | undefined {
  return current.getStore();
}

/** Undefined without a tracer. */
export function startSpan(span: SpanStart): Span | undefined {
  return tracer?.start({ parent: currentTrace(), ...span });
}

/** Runs `work`, and what it begins, as a part of the span. */
export function within<T>(span: Pick<Span, 'context'>, work: () => T): T {
  return current.run(span.context, work);
}

/** Runs `work` in a span. Its failure is the span's problem. */
export function inSpan<T>(start: SpanStart, work: (context?: TraceParent) => Promise<T>): Promise<T> {
  const span = startSpan(start);
  if (!span) return work();
  return within(span, () => work(span.context)).then(
    (result) => {
      span.end();
      return result;
    },
    (error: unknown) => {
      span.end({}, error instanceof Error ? error.name : 'Error');
      throw error;
    },
  );
}
