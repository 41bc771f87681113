/** A trace: its W3C context (`traceparent`), the header in which Temporal carries it, and its spans. */
import { defaultPayloadConverter, type Headers } from '@temporalio/common';

/** `00-{trace id, 32 hex digits}-{span id, 16 hex digits}-{flags}`. */
export type TraceParent = string;

/** The header of Temporal's own OpenTelemetry interceptors, so that callers with another SDK continue their trace. */
const TRACE_HEADER = '_tracer-data';

const TRACE_PARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export function isTraceParent(value: unknown): value is TraceParent {
  return typeof value === 'string' && TRACE_PARENT.test(value);
}

export function traceIdOf(context: TraceParent): string {
  return context.split('-')[1] ?? '';
}

/** The id of the span of a workflow run: the first half of the run id, which is random. */
export function runSpanId(runId: string): string {
  return runId.replaceAll('-', '').slice(0, 16);
}

/** The context of a workflow run in the trace of its start. Undefined if the run id is not a UUID. */
export function runContext(start: TraceParent, runId: string): TraceParent | undefined {
  const [version, traceId, , flags] = start.split('-');
  const context = [version, traceId, runSpanId(runId), flags].join('-');
  return isTraceParent(context) ? context : undefined;
}

/** Anyone can send the header. */
export function traceIn(headers: Headers): TraceParent | undefined {
  const payload = headers[TRACE_HEADER];
  if (!payload) return undefined;
  try {
    const { traceparent } = defaultPayloadConverter.fromPayload<{ traceparent: unknown }>(payload);
    return isTraceParent(traceparent) ? traceparent : undefined;
  } catch {
    return undefined;
  }
}

/** The header is never encrypted: it holds random ids only. */
export function withTrace(headers: Headers, traceparent: TraceParent): Headers {
  return { ...headers, [TRACE_HEADER]: defaultPayloadConverter.toPayload({ traceparent }) };
}

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
