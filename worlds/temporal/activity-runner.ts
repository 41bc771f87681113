/** Runs an activity in a worker process, with the SDK's own context: heartbeats, cancellation, information. */
import type { Info } from '@temporalio/activity';
import { ActivityCancellationDetails, type ActivityFunction, noopMetricMeter } from '@temporalio/common';
import { type Core, type LoadedDataConverter, newActivity } from '../sdk.ts';

export type ActivityResult = Core.activity_result.IActivityExecutionResult;
export type Activities = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

export type CancelReason = 'CANCELLED' | 'NOT_FOUND' | 'TIMED_OUT' | 'WORKER_SHUTDOWN';

export interface RunningActivity {
  readonly result: Promise<ActivityResult>;
  cancel(reason: CancelReason): void;
}

export interface ActivityCall {
  info: Info;
  args: unknown[];
  heartbeat(details: unknown): void;
  /** Appends a line to the log. */
  writeLine(line: string): void;
}

/** `fn`: the function registered under the activity's name; undefined if this worker does not have it. */
export function runActivity(
  fn: Activities[string] | undefined,
  { info, args, heartbeat, writeLine }: ActivityCall,
  converter: LoadedDataConverter,
): RunningActivity {
  const { workflowExecution, activityId, isLocal, namespace } = info;
  const activity = newActivity(
    info,
    // As in the SDK, the workflow is responsible for the types of the arguments.
    fn as ActivityFunction | undefined,
    converter,
    {
      type: 'activity',
      namespace,
      activityId,
      isLocal,
      ...(workflowExecution && { workflowId: workflowExecution.workflowId }),
    },
    undefined,
    heartbeat,
    undefined,
    loggerOf(writeLine),
    noopMetricMeter,
    [],
  );
  return {
    result: activity.run({ args, headers: {} }),
    cancel: (reason) => {
      const details = {
        notFound: reason === 'NOT_FOUND',
        cancelRequested: reason === 'CANCELLED',
        timedOut: reason === 'TIMED_OUT',
        workerShutdown: reason === 'WORKER_SHUTDOWN',
      };
      activity.cancel(reason, new ActivityCancellationDetails(details));
    },
  };
}

function loggerOf(writeLine: ActivityCall['writeLine']) {
  const write = (message: string, meta?: unknown) => writeLine(`${message} ${JSON.stringify(meta ?? {})}`);
  const log = (_level: string, message: string, meta?: unknown) => write(message, meta);
  return { log, trace: write, debug: write, info: write, warn: write, error: write };
}
