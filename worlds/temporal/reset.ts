/** Workflow Reset: a new run with the first events of another run. */
import { type Api, temporal } from '../sdk.ts';
import type { Payload } from './commands.ts';
import { grpcError } from './errors.ts';
import { type Entry, EventType } from './history.ts';
import { type ActivityHost, PendingActivity } from './pending-activity.ts';
import { id, type Run, type Started, type Update } from './run.ts';

const { UpdateAdmittedEventOrigin, WorkflowTaskFailedCause } = temporal.api.enums.v1;
type Request = Api.api.update.v1.IRequest;

/** What a reset does to the server. */
export interface ResetHost extends ActivityHost {
  latest(workflowId: string): Run | undefined;
  terminate(run: Run, reason: string): void;
  add(workflowId: string, runId: string, started: Started): Run;
  signal(run: Run, signalName: string, input: Payload[], identity: string): void;
  update(run: Run, request: Omit<Update['request'], 'sequencing'>): Update;
  planTimer(run: Run, seq: number, started: Entry, inMs: number): void;
  remainingMs(started: Entry): number;
  schedule(activity: PendingActivity): void;
}

/** `eventId`: the event that closed a workflow task. The new run continues before it. */
export function reset(server: ResetHost, base: Run, eventId: number, reason: string): Run {
  const kept = base.entries.slice(0, eventId - 1);
  const started = kept.findLast(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED);
  if (!started || kept.at(-1) !== started)
    throw grpcError('INVALID_ARGUMENT', `event ${eventId} does not follow the start of a workflow task`);
  if (kept.some((entry) => isChild(entry) && !kept.some((other) => closedEventId(other) === entry.id)))
    throw grpcError('UNIMPLEMENTED', 'a reset of a run with pending children is not simulated');
  const current = server.latest(base.workflowId);
  if (current?.isRunning) server.terminate(current, `reset: ${reason}`);
  const run = server.add(base.workflowId, server.world.random.uuid(), base.started);
  run.entries.push(...kept);
  restoreState(server, run);
  run.write(EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED, {
    workflowTaskFailedEventAttributes: {
      scheduledEventId: started.event.workflowTaskStartedEventAttributes?.scheduledEventId ?? null,
      startedEventId: id(started.id),
      cause: WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
      failure: { message: reason, resetWorkflowFailureInfo: {} },
      baseRunId: base.runId,
      newRunId: run.runId,
    },
  });
  for (const entry of base.entries.slice(eventId - 1)) reapply(server, run, entry);
  run.scheduleTask();
  return run;
}

/** The new run receives the signals and accepted updates again that came after the point of the reset. */
function reapply(server: ResetHost, run: Run, { event }: Entry): void {
  const { signalName, input, identity } = event.workflowExecutionSignaledEventAttributes ?? {};
  if (signalName) server.signal(run, signalName, input?.payloads ?? [], identity ?? '');
  const request =
    event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest ??
    event.workflowExecutionUpdateAdmittedEventAttributes?.request;
  if (!request || run.updates.has(request.meta?.updateId ?? '')) return;
  run.write(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED, {
    workflowExecutionUpdateAdmittedEventAttributes: {
      request,
      origin: UpdateAdmittedEventOrigin.UPDATE_ADMITTED_EVENT_ORIGIN_REAPPLY,
    },
  });
  server.update(run, updateOf(request));
}

function updateOf({ input, meta }: Request): Omit<Update['request'], 'sequencing'> {
  return {
    id: meta?.updateId ?? '',
    name: input?.name ?? '',
    args: input?.args?.payloads ?? [],
    identity: meta?.identity ?? '',
  };
}

/** Restores the state of a run from its events, with its pending timers and activities. */
export function restoreState(server: ResetHost, run: Run): void {
  const closed = new Set(run.entries.map(closedEventId));
  for (const entry of run.entries) {
    applyEntry(run, entry);
    if (closed.has(entry.id)) continue;
    const { timerStartedEventAttributes: timer, activityTaskScheduledEventAttributes: activity } =
      entry.event;
    if (timer) server.planTimer(run, Number(timer.timerId), entry, server.remainingMs(entry));
    if (activity)
      server.schedule(
        new PendingActivity(server, run, entry.id, {
          ...activity,
          activityType: activity.activityType?.name ?? '',
          taskQueue: activity.taskQueue?.name ?? '',
          arguments: activity.input?.payloads ?? [],
        }),
      );
  }
}

function isChild({ type }: Entry): boolean {
  return type === EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED;
}

function closedEventId({ event }: Entry): number {
  const activity =
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskCanceledEventAttributes;
  const timer = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes;
  const child =
    event.childWorkflowExecutionCompletedEventAttributes ??
    event.childWorkflowExecutionFailedEventAttributes ??
    event.childWorkflowExecutionCanceledEventAttributes ??
    event.childWorkflowExecutionTerminatedEventAttributes ??
    event.startChildWorkflowExecutionFailedEventAttributes;
  return Number(activity?.scheduledEventId ?? timer?.startedEventId ?? child?.initiatedEventId ?? 0);
}

function applyEntry(run: Run, { id: entryId, event }: Entry): void {
  const completed = event.workflowTaskCompletedEventAttributes;
  if (completed) {
    run.lastCompletedStartedId = Number(completed.startedEventId);
    run.lastCompletedId = entryId;
  }
  if (event.workflowExecutionCancelRequestedEventAttributes) run.cancelRequested = true;
  const upserted = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
  run.attributes = { ...run.attributes, ...upserted };
  run.memo = { ...run.memo, ...event.workflowPropertiesModifiedEventAttributes?.upsertedMemo?.fields };
  const { request: admitted } = event.workflowExecutionUpdateAdmittedEventAttributes ?? {};
  if (admitted)
    run.updates.set(admitted.meta?.updateId ?? '', {
      request: { ...updateOf(admitted), sequencing: 0 },
      state: 'admitted',
      acceptedEventId: 0,
      watchers: [],
    });
  const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
  const updateId = accepted?.protocolInstanceId;
  if (updateId)
    run.updates.set(updateId, {
      request: {
        ...(run.updates.get(updateId)?.request ?? updateOf(accepted.acceptedRequest ?? {})),
        id: updateId,
        sequencing: Number(accepted.acceptedRequestSequencingEventId),
      },
      state: 'accepted',
      acceptedEventId: entryId,
      watchers: [],
    });
  const { meta, outcome } = event.workflowExecutionUpdateCompletedEventAttributes ?? {};
  if (meta?.updateId && outcome) run.settleUpdate(meta.updateId, { state: 'completed', outcome });
}
