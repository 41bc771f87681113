/** Turns tracing on if the environment names a collector. Only then are the packages of OpenTelemetry loaded. */
import { useTracer } from './trace-context.ts';

export interface TracingSettings {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
}

/** Returns a function that sends what is left and ends tracing. `process`: the service's name, unless `OTEL_SERVICE_NAME` is set. */
export async function startTracing(
  process: string,
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: TracingSettings,
): Promise<() => Promise<void>> {
  if (endpoint === undefined) return async () => undefined;
  const { openTelemetry } = await import('./open-telemetry.ts');
  const { tracer, stop } = openTelemetry(process, endpoint);
  useTracer(tracer);
  return async () => {
    useTracer();
    await stop();
  };
}
