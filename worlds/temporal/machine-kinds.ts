/**
 * The state machines that core keeps for what a workflow has requested: how their events resolve it and how it is
 * canceled. Ported from `crates/sdk-core/src/worker/workflow/machines` of the core that the SDK ships.
 */
import { type Core as CoreSdk, coresdk } from '../sdk.ts';
import type { CommandAttributes, CommandType, Failure, UpdateRequest } from './commands.ts';
import { childEnd, type Entry, EventType } from './history.ts';
import {
  activityCancelled,
  activityResolved,
  childCancelled,
  childResolved,
  childResult,
  childStarted,
  doUpdate,
  type Job,
} from './jobs.ts';

const { ActivityCancellationType } = coresdk.workflow_commands;
const { ChildWorkflowCancellationType } = coresdk.child_workflow;

export type UpdateResponse = CoreSdk.workflow_commands.IUpdateResponse;

export interface Machine {
  /** Canceled before its command was sent, so it leaves no event. */
  readonly dropped: boolean;
  /** Takes the event of its own command, or an event that belongs to it. */
  take(entry: Entry): void;
}

/** What a machine may do. */
export interface Core {
  addJob(job: Job): void;
  addCommand<T extends CommandType>(
    machine: Machine,
    type: T,
    attributes: CommandAttributes[T],
    bytes?: string,
  ): void;
  advanceClock(ms: number): void;
  readonly replaying: boolean;
  readonly now: number;
}

/** For commands without a resolution. */
export const NEVER_RESOLVES: Machine = { dropped: false, take: () => undefined };

export class Timer implements Machine {
  dropped = false;
  private recorded = false;
  private done = false;
  private readonly core: Core;
  private readonly seq: number;

  constructor(core: Core, seq: number) {
    this.core = core;
    this.seq = seq;
  }

  take({ type }: Entry): void {
    if (type === EventType.EVENT_TYPE_TIMER_STARTED) this.recorded = true;
    if (type === EventType.EVENT_TYPE_TIMER_CANCELED) this.done = true;
    if (type !== EventType.EVENT_TYPE_TIMER_FIRED) return;
    this.done = true;
    this.core.addJob({ fireTimer: { seq: this.seq } });
  }

  cancel(): void {
    if (this.done) return;
    if (this.recorded) this.core.addCommand(this, 'cancelTimer', { seq: this.seq });
    else this.dropped = true;
    this.done = true;
  }
}

export class Activity implements Machine {
  dropped = false;
  private scheduledEventId: number | undefined;
  private done = false;
  private readonly core: Core;
  private readonly name: { seq: number; activityId: string; activityType: string };
  private readonly cancellation: number;

  constructor(
    core: Core,
    { seq, activityId, activityType, cancellationType }: CommandAttributes['scheduleActivity'],
  ) {
    this.core = core;
    this.name = { seq: seq ?? 0, activityId: activityId ?? '', activityType: activityType ?? '' };
    this.cancellation = cancellationType ?? ActivityCancellationType.TRY_CANCEL;
  }

  take(entry: Entry): void {
    if (entry.type === EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) this.scheduledEventId = entry.id;
    if (this.done || !ENDS_ACTIVITY.has(entry.type)) return;
    this.done = true;
    this.core.addJob(activityResolved(this.name, entry));
  }

  cancel(): void {
    if (this.done) return;
    if (this.scheduledEventId === undefined) {
      this.dropped = true;
      this.end();
      return;
    }
    if (this.cancellation !== ActivityCancellationType.ABANDON)
      this.core.addCommand(this, 'requestCancelActivity', { scheduledEventId: this.scheduledEventId });
    if (this.cancellation !== ActivityCancellationType.WAIT_CANCELLATION_COMPLETED) this.end();
  }

  private end(): void {
    this.done = true;
    this.core.addJob(activityCancelled(this.name));
  }
}

const ENDS_ACTIVITY: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
  EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
  EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED,
]);

export class Child implements Machine {
  dropped = false;
  private initiated: number | undefined;
  private runId = '';
  private done = false;
  private readonly core: Core;
  private readonly name: { seq: number; workflowId: string; workflowType: string };
  private readonly cancellation: number;

  constructor(
    core: Core,
    { seq, workflowId, workflowType, cancellationType }: CommandAttributes['startChild'],
  ) {
    this.core = core;
    this.name = { seq: seq ?? 0, workflowId: workflowId ?? '', workflowType: workflowType ?? '' };
    this.cancellation = cancellationType ?? ChildWorkflowCancellationType.ABANDON;
  }

  take(entry: Entry): void {
    if (entry.type === EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED)
      this.initiated = entry.id;
    if (this.done) return;
    const { childWorkflowExecutionStartedEventAttributes: started } = entry.event;
    if (started) this.runId = started.workflowExecution?.runId ?? '';
    if (started || entry.event.startChildWorkflowExecutionFailedEventAttributes) {
      this.done = !started;
      this.core.addJob(childStarted(this.name, entry));
    } else if (childEnd(entry.event)) {
      this.done = true;
      this.core.addJob(childResolved(this.name, childResult(this.name, this.run(), entry)));
    }
  }

  cancel(reason: string): void {
    if (this.done) return;
    if (this.initiated === undefined) {
      this.dropped = true;
      this.done = true;
      const { failure } = childCancelled(this.name, this.run()).cancelled ?? {};
      const cancelled = {
        failure: { ...failure, message: 'Child Workflow execution cancelled before scheduled' },
      };
      this.core.addJob({ resolveChildWorkflowExecutionStart: { seq: this.name.seq, cancelled } });
      return;
    }
    const { workflowId } = this.name;
    const attributes = { workflowId, runId: this.runId, childOnly: true, reason };
    if (this.cancellation !== ChildWorkflowCancellationType.ABANDON)
      this.core.addCommand(NEVER_RESOLVES, 'cancelExternal', attributes);
    if (
      this.cancellation !== ChildWorkflowCancellationType.ABANDON &&
      this.cancellation !== ChildWorkflowCancellationType.TRY_CANCEL
    )
      return;
    this.done = true;
    this.core.addJob(childResolved(this.name, childCancelled(this.name, this.run())));
  }

  private run(): { initiated: number; runId: string } {
    return { initiated: this.initiated ?? 0, runId: this.runId };
  }
}

/** A signal to another workflow, or a request to cancel it. */
export class External implements Machine {
  dropped = false;
  private recorded = false;
  private readonly core: Core;
  private readonly seq: number;
  private readonly kind: 'resolveSignalExternalWorkflow' | 'resolveRequestCancelExternalWorkflow';

  constructor(core: Core, seq: number, kind: External['kind']) {
    this.core = core;
    this.seq = seq;
    this.kind = kind;
  }

  take({ event }: Entry): void {
    this.recorded = true;
    const failed =
      event.signalExternalWorkflowExecutionFailedEventAttributes ??
      event.requestCancelExternalWorkflowExecutionFailedEventAttributes;
    const done =
      event.externalWorkflowExecutionSignaledEventAttributes ??
      event.externalWorkflowExecutionCancelRequestedEventAttributes;
    if (done) this.core.addJob({ [this.kind]: { seq: this.seq } });
    if (!failed) return;
    const verb = this.kind === 'resolveSignalExternalWorkflow' ? 'signal' : 'cancel';
    const message = `Unable to ${verb} external workflow because it was not found`;
    const failure: Failure = { message, applicationFailureInfo: { nonRetryable: true } };
    this.core.addJob({ [this.kind]: { seq: this.seq, failure } });
  }

  cancel(): void {
    if (this.recorded || this.dropped) return;
    this.dropped = true;
    const failure = { message: 'Signal was cancelled before being sent', canceledFailureInfo: {} };
    this.core.addJob({ [this.kind]: { seq: this.seq, failure } });
  }
}

export class Update implements Machine {
  readonly dropped = false;
  private accepted = false;
  private readonly core: Core;
  private readonly request: UpdateRequest;
  private readonly rejected: (failure: Failure) => void;

  constructor(core: Core, request: UpdateRequest, rejected: (failure: Failure) => void) {
    this.core = core;
    this.request = request;
    this.rejected = rejected;
    core.addJob(doUpdate(request, !core.replaying));
  }

  take(): void {}

  respond({ accepted, rejected, completed }: UpdateResponse, bytes: string): void {
    const { id } = this.request;
    if (accepted) {
      this.accepted = true;
      this.core.addCommand(this, 'updateAccepted', this.request, bytes);
    } else if (completed) this.core.addCommand(this, 'updateCompleted', { id, result: completed }, bytes);
    else if (rejected && this.accepted)
      this.core.addCommand(this, 'updateCompleted', { id, failure: rejected }, bytes);
    else if (rejected && !this.core.replaying) this.rejected(rejected);
  }
}
