/** Configures the Temporal runtime of a worker process: its log on standard error, and its metrics. */
import { DefaultLogger, type LogLevel, type LogMetadata, Runtime } from '@temporalio/worker';
import type { WorkerEnvironment } from '../config/config.ts';

const LEVELS: Record<WorkerEnvironment['PAYOUTS_LOG_LEVEL'], LogLevel | undefined> = {
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARN',
  error: 'ERROR',
  silent: undefined,
};

/** What the SDK reports of every worker that serves activities only, and of every start and end. */
const ROUTINE = /^(?:No (?:workflows|Nexus services) registered|Worker state changed)/;

class WorkerLogger extends DefaultLogger {
  override log(level: LogLevel, message: string, meta?: LogMetadata): void {
    super.log(ROUTINE.test(message) ? 'DEBUG' : level, message, meta);
  }
}

export function installRuntime({ PAYOUTS_LOG_LEVEL, PAYOUTS_METRICS_LISTEN }: WorkerEnvironment): void {
  const level = LEVELS[PAYOUTS_LOG_LEVEL];
  Runtime.install({
    // `worker.ts` handles the signals.
    shutdownSignals: [],
    logger: level ? new WorkerLogger(level) : new DefaultLogger('ERROR', () => undefined),
    ...(PAYOUTS_METRICS_LISTEN && {
      telemetryOptions: { metrics: { prometheus: { bindAddress: PAYOUTS_METRICS_LISTEN } } },
    }),
  });
}
