/** An activity in a worker process, with the SDK's own context: heartbeats, cancellation, information. */
import type { Info } from '@temporalio/activity';
import { ActivityCancellationDetails, type ActivityFunction, noopMetricMeter } from '@temporalio/common';
import { type Core, decodeArrayFromPayloads, type LoadedDataConverter, newActivity } from '../sdk.ts';
import type { Payload } from './commands.ts';

export type ActivityResult = Core.activity_result.IActivityExecutionResult;
export type Activities = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

export type CancelReason = 'CANCELLED' | 'NOT_FOUND' | 'TIMED_OUT' | 'WORKER_SHUTDOWN';

export interface RunningActivity {
  readonly result: Promise<ActivityResult>;
  cancel(reason: CancelReason): void;
}

export interface ActivityCall {
  info: Info;
  args: readonly Payload[];
  heartbeat(details: unknown): void;
  /** Takes a line of the log. */
  say(line: string): void;
}

/** `fn`: registered under the activity's name; undefined where this worker does not know it. */
export function runActivity(
  fn: Activities[string] | undefined,
  { info, args, heartbeat, say }: ActivityCall,
  converter: LoadedDataConverter,
): RunningActivity {
  const { workflowExecution, activityId, isLocal, namespace } = info;
  const activity = newActivity(
    info,
    // Called with what the workflow sent, as the SDK does: their types are the workflow's promise.
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
    loggerOf(say),
    noopMetricMeter,
    [],
  );
  return {
    result: decodeArrayFromPayloads(converter, [...args]).then((decoded) =>
      activity.run({ args: decoded, headers: {} }),
    ),
    cancel: (reason) => {
      const how = {
        notFound: reason === 'NOT_FOUND',
        cancelRequested: reason === 'CANCELLED',
        timedOut: reason === 'TIMED_OUT',
        workerShutdown: reason === 'WORKER_SHUTDOWN',
      };
      activity.cancel(reason, new ActivityCancellationDetails(how));
    },
  };
}

function loggerOf(say: ActivityCall['say']) {
  const write = (message: string, meta?: unknown) => say(`${message} ${JSON.stringify(meta ?? {})}`);
  const log = (_level: string, message: string, meta?: unknown) => write(message, meta);
  return { log, trace: write, debug: write, info: write, warn: write, error: write };
}
