/**
 * The trace of the work that is being done: its W3C context (`traceparent`), and the spans that describe it. Without a
 * tracer, nothing here costs more than a comparison, and no package of OpenTelemetry is loaded.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { Headers } from '@temporalio/common';
import { type Span, type SpanStart, type TraceParent, type Tracer, withTrace } from './trace.ts';

const current = new AsyncLocalStorage<TraceParent>();
let tracer: Tracer | undefined;

export interface TracingSettings {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
}

/**
 * Starts tracing if the environment names a collector. Only then are the packages of OpenTelemetry loaded. Returns a
 * function that sends what is left and ends tracing. `process`: the service's name, unless `OTEL_SERVICE_NAME` is set.
 */
export async function startTracing(
  process: string,
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: TracingSettings,
): Promise<() => Promise<void>> {
  if (endpoint === undefined) return async () => undefined;
  const { openTelemetry } = await import('./open-telemetry.ts');
  const started = openTelemetry(process, endpoint);
  tracer = started.tracer;
  return async () => {
    tracer = undefined;
    await started.stop();
  };
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

interface Traced {
  readonly headers: Headers;
}

function told<Input extends Traced, Result>(
  name: string,
  workflowId: string,
  input: Input,
  next: (input: Input) => Promise<Result>,
): Promise<Result> {
  if (!isTracing()) return next(input);
  const attributes = { 'temporal.workflow.id': workflowId };
  return inSpan({ name, kind: 'client', attributes }, (context) =>
    next(context ? { ...input, headers: withTrace(input.headers, context) } : input),
  );
}

/** Without tracing, it changes nothing. Queries and descriptions have no span. */
export const clientSpans: WorkflowClientInterceptor = {
  startWithDetails: (input, next) =>
    told(`StartWorkflow:${input.workflowType}`, input.options.workflowId, input, next),
  signal: (input, next) =>
    told(`SignalWorkflow:${input.signalName}`, input.workflowExecution.workflowId ?? '', input, next),
  signalWithStart: (input, next) =>
    told(`SignalWithStartWorkflow:${input.signalName}`, input.options.workflowId, input, next),
  startUpdate: (input, next) =>
    told(`UpdateWorkflow:${input.updateName}`, input.workflowExecution.workflowId ?? '', input, next),
};
