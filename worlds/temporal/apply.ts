/** What each command of a workflow does on the server: the event it writes, and the effects. */
import { type Api, temporal } from '../sdk.ts';
import {
  type Command,
  type CommandAttributes,
  type CommandType,
  EVENT_OF,
  type Payload,
} from './commands.ts';

import { admittedRequest, type Entry } from './history.ts';
import { patchMarkerEvent, payload } from './markers.ts';
import { type ActivityHost, PendingActivity } from './pending-activity.ts';
import { id, type Run, type Started } from './run.ts';
import { toMs } from './time.ts';

const { WorkflowExecutionStatus, RetryState, ContinueAsNewInitiator } = temporal.api.enums.v1;

/** What commands do to the server. */
export interface CommandHost extends ActivityHost {
  planTimer(run: Run, seq: number, started: Entry, inMs: number): void;
  schedule(activity: PendingActivity): void;
  cancelActivity(run: Run, scheduledId: number): void;
  startChild(parent: Run, initiated: Entry): void;
  signalExternal(run: Run, initiated: Entry): void;
  cancelExternal(run: Run, initiated: Entry): void;
  continueAsNew(run: Run, next: Started): void;
}

type Apply<T extends CommandType> = (given: {
  server: CommandHost;
  run: Run;
  attributes: CommandAttributes[T];
  write: (attributes: Parameters<Run['write']>[1]) => ReturnType<Run['write']>;
}) => void;

/** A field of every command event. */
const causedBy = (run: Run) => ({ workflowTaskCompletedEventId: id(run.lastCompletedId) });

function payloads(one: Payload | null | undefined) {
  return { payloads: one ? [one] : [] };
}

function merge(run: Run, fields: Record<string, Payload> | null | undefined): void {
  run.attributes = { ...run.attributes, ...fields };
}

export const APPLY_COMMAND: { readonly [T in CommandType]: Apply<T> } = {
  startTimer: ({ server, run, attributes, write }) => {
    const { seq, startToFireTimeout } = attributes;
    const timerId = String(seq);
    const started = write({
      timerStartedEventAttributes: {
        timerId,
        startToFireTimeout: startToFireTimeout ?? null,
        ...causedBy(run),
      },
    });
    server.planTimer(run, seq ?? 0, started, toMs(startToFireTimeout));
  },
  cancelTimer: ({ run, attributes: { seq }, write }) => {
    const timer = run.timers.get(seq);
    if (timer) timer.planned.canceled = true;
    run.timers.delete(seq);
    run.removeBuffered(`timer ${seq}`);
    const startedEventId = id(timer?.startedId ?? 0);
    write({
      timerCanceledEventAttributes: {
        timerId: String(seq),
        startedEventId,
        identity: 'worker',
        ...causedBy(run),
      },
    });
  },
  scheduleActivity: ({ server, run, attributes, write }) => {
    const { activityId, activityType, taskQueue, retryPolicy, priority } = attributes;
    const scheduled = write({
      activityTaskScheduledEventAttributes: {
        activityId: activityId ?? '',
        activityType: { name: activityType ?? '' },
        taskQueue: { name: taskQueue ?? '' },
        input: { payloads: attributes.arguments ?? [] },
        header: {},
        scheduleToCloseTimeout: attributes.scheduleToCloseTimeout ?? null,
        scheduleToStartTimeout: attributes.scheduleToStartTimeout ?? null,
        startToCloseTimeout: attributes.startToCloseTimeout ?? null,
        heartbeatTimeout: attributes.heartbeatTimeout ?? null,
        retryPolicy: retryPolicy ?? null,
        priority: priority ?? null,
        ...causedBy(run),
      },
    });
    server.schedule(new PendingActivity(server, run, scheduled.id, attributes));
  },
  requestCancelActivity: ({ server, run, attributes: { scheduledEventId }, write }) => {
    write({
      activityTaskCancelRequestedEventAttributes: {
        scheduledEventId: id(scheduledEventId),
        ...causedBy(run),
      },
    });
    server.cancelActivity(run, scheduledEventId);
  },
  patch: ({ run, attributes, write }) => {
    write({ markerRecordedEventAttributes: { ...patchMarkerEvent(attributes), ...causedBy(run) } });
  },
  patchedAttributes: ({ run, attributes: { patchIds }, write }) => {
    const indexedFields = { TemporalChangeVersion: payload(patchIds) };
    merge(run, indexedFields);
    write({
      upsertWorkflowSearchAttributesEventAttributes: {
        searchAttributes: { indexedFields },
        ...causedBy(run),
      },
    });
  },
  upsertAttributes: ({ run, attributes: { searchAttributes }, write }) => {
    merge(run, searchAttributes?.indexedFields);
    write({
      upsertWorkflowSearchAttributesEventAttributes: {
        searchAttributes: searchAttributes ?? null,
        ...causedBy(run),
      },
    });
  },
  modifyProperties: ({ run, attributes: { upsertedMemo }, write }) => {
    run.memo = { ...run.memo, ...upsertedMemo?.fields };
    write({
      workflowPropertiesModifiedEventAttributes: { upsertedMemo: upsertedMemo ?? null, ...causedBy(run) },
    });
  },
  startChild: ({ server, run, attributes, write }) => {
    const { workflowId, workflowType, taskQueue, parentClosePolicy, input, memo, searchAttributes } =
      attributes;
    const initiated = write({
      startChildWorkflowExecutionInitiatedEventAttributes: {
        namespace: 'default',
        workflowId: workflowId ?? '',
        workflowType: { name: workflowType ?? '' },
        taskQueue: { name: taskQueue || (run.started.taskQueue?.name ?? '') },
        input: { payloads: input ?? [] },
        parentClosePolicy: parentClosePolicy ?? 0,
        workflowIdReusePolicy: attributes.workflowIdReusePolicy ?? 0,
        memo: { fields: memo ?? {} },
        searchAttributes: searchAttributes ?? null,
        ...causedBy(run),
      },
    });
    server.startChild(run, initiated);
  },
  signalExternal: ({ server, run, attributes, write }) => {
    const { workflowExecution, childWorkflowId, signalName, args } = attributes;
    const workflowId = workflowExecution?.workflowId ?? childWorkflowId ?? '';
    const initiated = write({
      signalExternalWorkflowExecutionInitiatedEventAttributes: {
        workflowExecution: { workflowId, runId: workflowExecution?.runId ?? '' },
        signalName: signalName ?? '',
        input: { payloads: args ?? [] },
        childWorkflowOnly: childWorkflowId != null,
        ...causedBy(run),
      },
    });
    server.signalExternal(run, initiated);
  },
  cancelExternal: ({ server, run, attributes: { workflowId, runId, childOnly, reason }, write }) => {
    const initiated = write({
      requestCancelExternalWorkflowExecutionInitiatedEventAttributes: {
        workflowExecution: { workflowId, runId },
        childWorkflowOnly: childOnly,
        reason,
        ...causedBy(run),
      },
    });
    server.cancelExternal(run, initiated);
  },
  updateAccepted: ({ run, attributes, write }) => {
    const { id: updateId, name, args, identity, sequencing } = attributes;
    const { id: acceptedEventId } = write({
      workflowExecutionUpdateAcceptedEventAttributes: {
        protocolInstanceId: updateId,
        acceptedRequestMessageId: `${updateId}/request`,
        acceptedRequestSequencingEventId: id(sequencing),
        acceptedRequest: run.entries.some((entry) => admittedRequest(entry)?.meta?.updateId === updateId)
          ? null
          : { meta: { updateId, identity }, input: { name, args: { payloads: args }, header: {} } },
      },
    });
    run.settleUpdate(updateId, { state: 'accepted', acceptedEventId });
  },
  updateCompleted: ({ run, attributes: { id: updateId, result, failure }, write }) => {
    const outcome = failure ? { failure } : { success: payloads(result) };
    write({
      workflowExecutionUpdateCompletedEventAttributes: {
        meta: { updateId, identity: run.updates.get(updateId)?.request.identity ?? '' },
        acceptedEventId: id(run.updates.get(updateId)?.acceptedEventId ?? 0),
        outcome,
      },
    });
    run.settleUpdate(updateId, { state: 'completed', outcome });
  },
  complete: ({ run, attributes: { result }, write }) => {
    write({ workflowExecutionCompletedEventAttributes: { result: payloads(result), ...causedBy(run) } });
    run.close(WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED);
  },
  fail: ({ run, attributes: { failure }, write }) => {
    const retryState = RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET;
    write({
      workflowExecutionFailedEventAttributes: { failure: failure ?? null, retryState, ...causedBy(run) },
    });
    run.close(WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_FAILED);
  },
  cancel: ({ run, write }) => {
    write({ workflowExecutionCanceledEventAttributes: causedBy(run) });
    run.close(WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CANCELED);
  },
  continueAsNew: ({ server, run, attributes, write }) => {
    run.nextRunId = server.world.random.uuid();
    const next = nextStart(run, attributes);
    write({
      workflowExecutionContinuedAsNewEventAttributes: {
        newExecutionRunId: run.nextRunId,
        workflowType: next.workflowType ?? null,
        taskQueue: next.taskQueue ?? null,
        input: next.input ?? null,
        initiator: ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_WORKFLOW,
        memo: next.memo ?? null,
        searchAttributes: next.searchAttributes ?? null,
        ...causedBy(run),
      },
    });
    run.close(WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW);
    server.continueAsNew(run, next);
  },
};

function nextStart(
  run: Run,
  attributes: CommandAttributes['continueAsNew'],
): Api.api.history.v1.IWorkflowExecutionStartedEventAttributes {
  const { workflowType, taskQueue, memo, searchAttributes } = attributes;
  return {
    ...run.started,
    workflowType: { name: workflowType || (run.started.workflowType?.name ?? '') },
    taskQueue: taskQueue ? { name: taskQueue, kind: 1 } : (run.started.taskQueue ?? null),
    input: { payloads: attributes.arguments ?? [] },
    memo: { fields: { ...memo } },
    searchAttributes: searchAttributes ?? null,
    initiator: ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_WORKFLOW,
    continuedExecutionRunId: run.runId,
    originalExecutionRunId: run.nextRunId,
    attempt: 1,
  };
}

export function applyCommand<T extends CommandType>(
  server: CommandHost,
  run: Run,
  {
    type,
    attributes,
    fingerprint,
  }: Extract<Command, { type: T }> & { type: T; attributes: CommandAttributes[T] },
): void {
  const write: Parameters<Apply<T>>[0]['write'] = (event) => run.write(EVENT_OF[type], event, fingerprint);
  APPLY_COMMAND[type]({ server, run, attributes, write });
}
