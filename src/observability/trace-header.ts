/** Reads and writes the header in which Temporal carries a trace. It is never encrypted: it holds random ids only. */
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import { TRACE_HEADER, type TraceParent, traceParentIn } from '../domain/telemetry.ts';

export function traceIn(headers: Headers): TraceParent | undefined {
  const payload = headers[TRACE_HEADER];
  if (!payload) return undefined;
  try {
    return traceParentIn(defaultPayloadConverter.fromPayload(payload));
  } catch {
    return undefined;
  }
}

export function withTrace(headers: Headers, traceparent: TraceParent): Headers {
  return { ...headers, [TRACE_HEADER]: defaultPayloadConverter.toPayload({ traceparent }) };
}
