/** Spans by OpenTelemetry, sent to a collector over OTLP/HTTP. No other file imports its packages. */
import {
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, RandomIdGenerator } from '@opentelemetry/sdk-trace-base';
import { isTraceParent, type Span, type SpanStart, type TraceParent, type Tracer } from './trace.ts';

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
  consumer: SpanKind.CONSUMER,
} as const;

/** `endpoint`: of the collector, without the path `/v1/traces`. Headers and timeouts come from the variables `OTEL_…`. */
export function openTelemetry(
  serviceName: string,
  endpoint: string,
): { tracer: Tracer; stop(): Promise<void> } {
  const random = new RandomIdGenerator();
  let announced: string | undefined;
  const provider = new BasicTracerProvider({
    // `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` go first.
    resource: resourceFromAttributes({ 'service.name': serviceName }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [
      new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` })),
    ],
    idGenerator: {
      generateTraceId: () => random.generateTraceId(),
      generateSpanId: () => announced ?? random.generateSpanId(),
    },
  });
  const tracer = provider.getTracer('durable-payouts');
  return {
    tracer: {
      start({ name, kind, parent, links = [], attributes = {}, startMs, spanId }: SpanStart): Span {
        // The id of a workflow's span is known before the span: its activities name it as their parent.
        announced = spanId;
        const options = {
          kind: KINDS[kind],
          attributes,
          links: links.flatMap((one) => spanContextOf(one) ?? []).map((context) => ({ context })),
          ...(startMs !== undefined && { startTime: startMs }),
        };
        const span = tracer.startSpan(name, options, contextOf(parent));
        announced = undefined;
        return {
          context: parentOf(span.spanContext()),
          end(more = {}, problem, endMs) {
            span.setAttributes(more);
            // A code: messages may quote what a provider or a caller wrote.
            if (problem !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: problem });
            span.end(endMs);
          },
        };
      },
    },
    stop: () => provider.shutdown().catch(() => undefined),
  };
}

function contextOf(parent: TraceParent | undefined): Context {
  const remote = spanContextOf(parent);
  return remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT;
}

function spanContextOf(parent: TraceParent | undefined): SpanContext | undefined {
  if (!isTraceParent(parent)) return undefined;
  const [, traceId = '', spanId = '', flags = '00'] = parent.split('-');
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function parentOf({ traceId, spanId, traceFlags }: SpanContext): TraceParent {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
