/** The activation jobs that core derives from events. */
import { type Api, type Core, coresdk, temporal } from '../sdk.ts';
import type { Failure, UpdateRequest } from './commands.ts';
import type { Entry, HistoryEvent } from './history.ts';
import { randomnessSeed } from './randomness.ts';

export type Job = Core.workflow_activation.IWorkflowActivationJob;
type Resolution = Core.activity_result.IActivityResolution;
type ChildResult = Core.child_workflow.IChildWorkflowResult;
type Started = Api.api.history.v1.IWorkflowExecutionStartedEventAttributes;

const { RetryState } = temporal.api.enums.v1;

export function initialize(workflowId: string, started: Started, startTime: HistoryEvent['eventTime']): Job {
  // `create` sets every field, and absent ones have the defaults of a decoded message.
  const all = temporal.api.history.v1.WorkflowExecutionStartedEventAttributes.create(started);
  const parent = all.parentWorkflowExecution;
  return {
    initializeWorkflow: {
      workflowType: all.workflowType?.name ?? '',
      workflowId,
      arguments: all.input?.payloads ?? [],
      randomnessSeed: randomnessSeed(all.originalExecutionRunId),
      headers: all.header?.fields ?? {},
      identity: all.identity,
      workflowTaskTimeout: all.workflowTaskTimeout ?? null,
      workflowRunTimeout: all.workflowRunTimeout ?? null,
      workflowExecutionTimeout: all.workflowExecutionTimeout ?? null,
      continuedFromExecutionRunId: all.continuedExecutionRunId,
      firstExecutionRunId: all.firstExecutionRunId,
      originalExecutionRunId: all.originalExecutionRunId,
      retryPolicy: all.retryPolicy ?? null,
      attempt: all.attempt,
      // A copy: the SDK decodes it in place, and the history must stay encrypted.
      memo: all.memo ? { fields: { ...all.memo.fields } } : null,
      searchAttributes: all.searchAttributes ?? null,
      startTime: startTime ?? null,
      lastCompletionResult: all.lastCompletionResult ?? null,
      rootWorkflow: all.rootWorkflowExecution ?? null,
      priority: all.priority ?? null,
      ...(parent && { parentWorkflowInfo: { ...parent, namespace: all.parentWorkflowNamespace } }),
    },
  };
}

export function signaled({ event }: Entry): Job {
  const { signalName, input, identity, header } = event.workflowExecutionSignaledEventAttributes ?? {};
  return {
    signalWorkflow: {
      signalName: signalName ?? '',
      input: input?.payloads ?? [],
      identity: identity ?? '',
      headers: header?.fields ?? {},
    },
  };
}

export function doUpdate({ id, name, args, identity }: UpdateRequest, runValidator: boolean): Job {
  const meta = { identity, updateId: id };
  return { doUpdate: { id, protocolInstanceId: id, name, input: args, headers: {}, meta, runValidator } };
}

interface ActivityName {
  seq: number;
  activityId: string;
  activityType: string;
}

export function activityResolved(activity: ActivityName, { event }: Entry): Job {
  const { seq } = activity;
  const { activityTaskCompletedEventAttributes: completed } = event;
  if (completed) {
    const [result] = completed.result?.payloads ?? [];
    return { resolveActivity: { seq, result: { completed: { result: result ?? null } } } };
  }
  const { activityTaskCanceledEventAttributes: cancelled } = event;
  if (cancelled) return activityCancelled(activity, cancelled);
  return { resolveActivity: { seq, result: activityFailed(activity, event) } };
}

function activityFailed(activity: ActivityName, event: HistoryEvent): Resolution {
  const { activityTaskFailedEventAttributes: failed } = event;
  const closing = failed ?? event.activityTaskTimedOutEventAttributes;
  const failure: Failure = {
    message: failed ? 'Activity task failed' : 'Activity task timed out',
    cause: closing?.failure ?? null,
    activityFailureInfo: activityInfo(activity, closing?.retryState ?? 0, {
      scheduled: closing?.scheduledEventId,
      started: closing?.startedEventId,
      identity: failed?.identity,
    }),
  };
  return { failed: { failure } };
}

export function activityCancelled(
  activity: ActivityName,
  attributes: Api.api.history.v1.IActivityTaskCanceledEventAttributes = {},
): Job {
  const failure: Failure = {
    message: 'Activity cancelled',
    cause: { canceledFailureInfo: { details: attributes.details ?? null } },
    activityFailureInfo: activityInfo(activity, RetryState.RETRY_STATE_CANCEL_REQUESTED, {
      scheduled: attributes.scheduledEventId,
      started: attributes.startedEventId,
      identity: attributes.identity,
    }),
  };
  return { resolveActivity: { seq: activity.seq, result: { cancelled: { failure } } } };
}

type EventId = Api.api.history.v1.IActivityTaskFailedEventAttributes['scheduledEventId'];

function activityInfo(
  { activityId, activityType }: ActivityName,
  retryState: number,
  from: {
    scheduled?: EventId | undefined;
    started?: EventId | undefined;
    identity?: string | null | undefined;
  },
) {
  return {
    activityType: { name: activityType },
    activityId,
    retryState,
    scheduledEventId: from.scheduled ?? null,
    startedEventId: from.started ?? null,
    identity: from.identity ?? '',
  };
}

export interface ChildName {
  seq: number;
  workflowId: string;
  workflowType: string;
}

export function childStarted({ seq, workflowId, workflowType }: ChildName, { event }: Entry): Job {
  const { childWorkflowExecutionStartedEventAttributes: started } = event;
  const cause = event.startChildWorkflowExecutionFailedEventAttributes?.cause ?? 0;
  return {
    resolveChildWorkflowExecutionStart: {
      seq,
      ...(started
        ? { succeeded: { runId: started.workflowExecution?.runId ?? '' } }
        : { failed: { workflowId, workflowType, cause: startCause(cause) } }),
    },
  };
}

function startCause(cause: number): number {
  const known = coresdk.child_workflow.StartChildWorkflowExecutionFailedCause;
  return cause === 1 ? known.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS : cause;
}

export function childResolved(child: ChildName, result: ChildResult): Job {
  return { resolveChildWorkflowExecution: { seq: child.seq, result } };
}

export function childResult(
  child: ChildName,
  run: { initiated: number; runId: string },
  { event }: Entry,
): ChildResult {
  const { childWorkflowExecutionCompletedEventAttributes: completed } = event;
  if (completed) return { completed: { result: completed.result?.payloads?.[0] ?? null } };
  const { childWorkflowExecutionFailedEventAttributes: failed } = event;
  const failure = (message: string, cause: Failure): ChildResult => ({
    failed: { failure: childFailure(child, run, message, cause, failed?.retryState ?? undefined) },
  });
  if (failed) return failure('Child Workflow execution failed', failed.failure ?? {});
  if (event.childWorkflowExecutionTimedOutEventAttributes)
    return failure('Child Workflow execution timed out', {
      message: 'Timed out',
      timeoutFailureInfo: { timeoutType: temporal.api.enums.v1.TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE },
    });
  if (event.childWorkflowExecutionTerminatedEventAttributes)
    return failure('Child Workflow execution terminated', {
      message: 'Terminated',
      terminatedFailureInfo: {},
    });
  return childCancelled(child, run);
}

export function childCancelled(child: ChildName, run: { initiated: number; runId: string }): ChildResult {
  const cause = { canceledFailureInfo: {} };
  return { cancelled: { failure: childFailure(child, run, 'Child Workflow execution cancelled', cause) } };
}

function childFailure(
  { workflowId, workflowType }: ChildName,
  { runId }: { runId: string },
  message: string,
  cause: Failure,
  retryState: number = RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE,
): Failure {
  const childWorkflowExecutionFailureInfo = {
    namespace: 'default',
    workflowType: { name: workflowType },
    workflowExecution: { workflowId, runId },
    retryState,
  };
  return { message, cause, childWorkflowExecutionFailureInfo };
}

const ORDER: readonly (readonly [keyof Job, number])[] = [
  ['initializeWorkflow', 0],
  ['notifyHasPatch', 1],
  ['updateRandomSeed', 2],
  ['signalWorkflow', 3],
  ['doUpdate', 3],
  ['queryWorkflow', 5],
];

/** Core sorts the jobs of an activation by kind and keeps the order within a kind. */
export function sorted(jobs: readonly Job[]): Job[] {
  const rank = (job: Job) => ORDER.find(([kind]) => job[kind] != null)?.[1] ?? 4;
  return jobs.toSorted((one, other) => rank(one) - rank(other));
}
