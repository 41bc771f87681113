/** The W3C context of a trace (`traceparent`), as Temporal's headers carry it. */

/** `00-{trace id, 32 hex digits}-{span id, 16 hex digits}-{flags}`. */
export type TraceParent = string;

/** That of Temporal's own OpenTelemetry interceptors, so that callers with another SDK continue their trace. */
export const TRACE_HEADER = '_tracer-data';

const TRACE_PARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export function isTraceParent(value: unknown): value is TraceParent {
  return typeof value === 'string' && TRACE_PARENT.test(value);
}

/** From the decoded content of the header, which anyone can send. */
export function traceParentIn(content: unknown): TraceParent | undefined {
  if (typeof content !== 'object' || content === null || !('traceparent' in content)) return undefined;
  return isTraceParent(content.traceparent) ? content.traceparent : undefined;
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
