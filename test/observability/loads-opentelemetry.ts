/** Prints whether the start of tracing has loaded a package of OpenTelemetry. */
import { createRequire } from 'node:module';
import { startTracing } from '../../src/observability/tracing.ts';

const { OTEL_EXPORTER_OTLP_ENDPOINT } = process.env;
const stop = await startTracing('test', { OTEL_EXPORTER_OTLP_ENDPOINT });
const loaded = Object.keys(createRequire(import.meta.url).cache);
console.log(loaded.some((file) => file.includes('@opentelemetry')));
await stop();
