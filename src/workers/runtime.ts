/** Configures the Temporal runtime of a worker process: its log on standard error, and its metrics. */
import { DefaultLogger, type LogLevel, Runtime } from '@temporalio/worker';
import type { WorkerEnvironment } from '../config/config.ts';

const LEVELS: Record<WorkerEnvironment['PAYOUTS_LOG_LEVEL'], LogLevel | undefined> = {
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARN',
  error: 'ERROR',
  silent: undefined,
};

export function installRuntime({ PAYOUTS_LOG_LEVEL, PAYOUTS_METRICS_LISTEN }: WorkerEnvironment): void {
  const level = LEVELS[PAYOUTS_LOG_LEVEL];
  Runtime.install({
    // `worker.ts` handles the signals.
    shutdownSignals: [],
    logger: level ? new DefaultLogger(level) : new DefaultLogger('ERROR', () => undefined),
    ...(PAYOUTS_METRICS_LISTEN && {
      telemetryOptions: { metrics: { prometheus: { bindAddress: PAYOUTS_METRICS_LISTEN } } },
    }),
  });
}
