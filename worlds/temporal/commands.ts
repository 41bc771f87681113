/** Commands of a workflow, as the worker sends them to the server. */
import { type Core, coresdk } from '../sdk.ts';
import { EventType, type Fingerprint } from './history.ts';

type Lang = Core.workflow_commands.IWorkflowCommand;
type Given<K extends keyof Lang> = NonNullable<Lang[K]>;
export type Payload = NonNullable<Core.workflow_commands.IUpdateResponse['completed']>;
export type Failure = NonNullable<Core.workflow_commands.IUpdateResponse['rejected']>;

/** An update as the workflow receives it, and as it is accepted. */
export interface UpdateRequest {
  id: string;
  name: string;
  args: Payload[];
  identity: string;
  /** The last event before the workflow task that delivered it. */
  sequencing: number;
}

export interface CommandAttributes {
  startTimer: Given<'startTimer'>;
  cancelTimer: { seq: number };
  scheduleActivity: Given<'scheduleActivity'>;
  requestCancelActivity: { scheduledEventId: number };
  patch: { patchId: string; deprecated: boolean };
  patchedAttributes: { patchIds: string[] };
  upsertAttributes: Given<'upsertWorkflowSearchAttributes'>;
  modifyProperties: Given<'modifyWorkflowProperties'>;
  startChild: Given<'startChildWorkflowExecution'>;
  signalExternal: Given<'signalExternalWorkflowExecution'>;
  cancelExternal: { workflowId: string; runId: string; childOnly: boolean; reason: string };
  updateAccepted: UpdateRequest;
  updateCompleted: { id: string; result?: Payload | undefined; failure?: Failure | undefined };
  complete: Given<'completeWorkflowExecution'>;
  fail: Given<'failWorkflowExecution'>;
  cancel: Given<'cancelWorkflowExecution'>;
  continueAsNew: Given<'continueAsNewWorkflowExecution'>;
}

export type CommandType = keyof CommandAttributes;
export type Command = {
  [T in CommandType]: {
    readonly type: T;
    readonly attributes: CommandAttributes[T];
    readonly fingerprint: Fingerprint;
  };
}[CommandType];

export const EVENT_OF: Readonly<Record<CommandType, EventType>> = {
  startTimer: EventType.EVENT_TYPE_TIMER_STARTED,
  cancelTimer: EventType.EVENT_TYPE_TIMER_CANCELED,
  scheduleActivity: EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
  requestCancelActivity: EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
  patch: EventType.EVENT_TYPE_MARKER_RECORDED,
  patchedAttributes: EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
  upsertAttributes: EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
  modifyProperties: EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED,
  startChild: EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
  signalExternal: EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
  cancelExternal: EventType.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
  updateAccepted: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
  updateCompleted: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
  complete: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
  fail: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
  cancel: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
  continueAsNew: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
};

const TERMINAL: ReadonlySet<CommandType> = new Set(['complete', 'fail', 'cancel', 'continueAsNew']);

export function isTerminal({ type }: Command): boolean {
  return TERMINAL.has(type);
}

/** The encoded command as the workflow issued it. */
export function bytesOf(command: Lang): string {
  const { WorkflowCommand } = coresdk.workflow_commands;
  return Buffer.from(WorkflowCommand.encode(command).finish()).toString('base64');
}
