/** Configures the Temporal runtime of a worker process: the log, with what the SDK and its Rust core say, and the metrics. */
import { activityInfo } from '@temporalio/activity';
import type { MetricMeter } from '@temporalio/common';
import {
  DefaultLogger,
  type InjectedSinks,
  type LogMetadata,
  Runtime,
  type WorkerOptions,
} from '@temporalio/worker';
import type { WorkflowInfo } from '@temporalio/workflow';
import type { WorkerEnvironment } from '../config/config.ts';
import { type Metric, WORKER_METRICS } from '../domain/telemetry.ts';
import { createLog, type Log } from '../observability/log.ts';
import { runSpanId, traceIdOf, traceIn } from '../observability/trace.ts';
import { currentTrace, inSpan, isTracing, startSpan } from '../observability/tracing.ts';
import type { TraceSinks } from '../workflows/shared/trace.ts';

/** What the SDK reports of every worker that serves activities only, and of every start and end. */
const ROUTINE = /^(?:No (?:workflows|Nexus services) registered|Worker state changed)/;

const METHODS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** Of our histograms. The SDK's default buckets are for milliseconds. */
const BUCKETS = Object.fromEntries(
  Object.entries<Metric>(WORKER_METRICS).flatMap(([name, { buckets }]) =>
    buckets ? [[name, [...buckets]]] : [],
  ),
);

/** `meter`: undefined if nobody can read the metrics, so that nothing asks Temporal for them. */
export function installRuntime(env: WorkerEnvironment): { log: Log; meter: MetricMeter | undefined } {
  const { PAYOUTS_LOG_LEVEL: level, PAYOUTS_METRICS_LISTEN: bindAddress } = env;
  const log = createLog('worker', env);
  Runtime.install({
    // `worker.ts` handles the signals.
    shutdownSignals: [],
    // Workflows, activities, the SDK and its Rust core log through it.
    logger: new DefaultLogger('TRACE', ({ level, message, meta = {} }) => {
      const method = ROUTINE.test(message) ? 'debug' : METHODS[level];
      if (log.isLevelEnabled(method)) log[method](flat(meta), message);
    }),
    telemetryOptions: {
      logging: { filter: { core: level === 'debug' ? 'INFO' : 'WARN', other: 'ERROR' }, forward: {} },
      ...(bindAddress && { metrics: { prometheus: { bindAddress, histogramBucketOverrides: BUCKETS } } }),
    },
  });
  return { log, meter: bindAddress === undefined ? undefined : Runtime.instance().metricMeter };
}

/** Fields of the Rust core that hold payloads, which are plain text without encryption keys, and the right to respond. */
const OMITTED: readonly string[] = ['status', 'completion', 'failure', 'taskToken', 'activation', 'task'];

/**
 * Texts, numbers, errors and lists of codes. The SDK also logs whole objects, such as the options of a worker, and these
 * hold the encryption keys.
 */
function flat(meta: LogMetadata): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(meta).filter(([name, value]) => !OMITTED.includes(name) && isFlat(value)),
  );
}

function isFlat(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((one) => typeof one === 'string');
  return typeof value !== 'object' || value instanceof Error;
}

/** Holds the rate-limit lease for up to an hour. */
const UNTRACED_ACTIVITY = 'holdLease';

/** The spans of a worker: of workflow runs, of the messages that workflows receive, and of activities. */
const sinks: InjectedSinks<TraceSinks> = {
  payoutsTrace: {
    runEnded: {
      fn: (info, { parent, endMs }) => {
        startSpan({
          name: `RunWorkflow:${info.workflowType}`,
          kind: 'internal',
          parent,
          spanId: runSpanId(info.runId),
          startMs: info.runStartTime.getTime(),
          attributes: attributesOf(info),
        })?.end({}, undefined, endMs);
      },
    },
    messageReceived: {
      fn: (info, { name, sender, run }) => {
        const places = run === undefined ? { parent: sender } : { parent: run, links: [sender] };
        startSpan({ name, kind: 'consumer', ...places, attributes: attributesOf(info) })?.end();
      },
    },
  },
};

/** Options of every Worker. Without tracing, they change nothing. */
export const tracedWorker = {
  sinks,
  interceptors: {
    activity: [
      () => ({
        inbound: {
          execute: (input, next) => {
            const { activityType, workflowExecution, attempt, taskQueue } = activityInfo();
            if (!isTracing() || activityType === UNTRACED_ACTIVITY) return next(input);
            const span = {
              name: `RunActivity:${activityType}`,
              kind: 'consumer',
              parent: traceIn(input.headers),
              attributes: {
                ...attributesOf(workflowExecution ?? { workflowId: '', runId: '' }),
                'temporal.attempt': attempt,
                'temporal.task_queue': taskQueue,
              },
            } as const;
            return inSpan(span, () => next(input));
          },
        },
        outbound: {
          getLogAttributes: (input, next) => {
            const context = currentTrace();
            return next(context === undefined ? input : { ...input, traceId: traceIdOf(context) });
          },
        },
      }),
    ],
  },
} satisfies Pick<WorkerOptions, 'sinks' | 'interceptors'>;

function attributesOf({ workflowId, runId }: Pick<WorkflowInfo, 'workflowId' | 'runId'>) {
  return { 'temporal.workflow.id': workflowId, 'temporal.run.id': runId };
}
