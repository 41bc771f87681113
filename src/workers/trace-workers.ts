/** The spans of a worker: of workflow runs, of the messages that workflows receive, and of activities. */
import { activityInfo } from '@temporalio/activity';
import type { InjectedSinks, WorkerOptions } from '@temporalio/worker';
import type { WorkflowInfo } from '@temporalio/workflow';
import { runSpanId, traceIdOf } from '../domain/telemetry.ts';
import { currentTrace, inSpan, isTracing, startSpan } from '../observability/trace-context.ts';
import { traceIn } from '../observability/trace-header.ts';
import type { TraceSinks } from '../workflows/shared/trace.ts';

/** Holds the rate-limit lease for up to an hour. */
const UNTRACED_ACTIVITY = 'holdLease';

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
