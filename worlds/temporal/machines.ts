/**
 * Core's part of a worker: turns history events into activations, and what the workflow requests into commands, which
 * a replay matches against the recorded events. Ported from `workflow_machines.rs` of the core that the SDK ships,
 * with one addition: a replayed command must equal the recorded one byte for byte, unless other code recorded it.
 */
import { type Api, type Core as CoreSdk, Long, temporal } from '../sdk.ts';
import {
  type Command,
  type CommandAttributes,
  type CommandType,
  EVENT_OF,
  type Failure,
  type UpdateRequest,
} from './commands.ts';
import {
  admittedRequest,
  type Entry,
  EventType,
  type Fingerprint,
  initiatingEventId,
  isCommandEvent,
  isFinal,
} from './history.ts';
import { identityIn, identityOf } from './identity.ts';
import { initialize, type Job, signaled, sorted } from './jobs.ts';
import {
  Activity,
  Child,
  type Core,
  External,
  type Machine,
  NEVER_RESOLVES,
  Timer,
  Update,
} from './machine-kinds.ts';
import { type PatchMarker, patchMarker } from './markers.ts';
import { randomnessSeed } from './randomness.ts';
import { nextSequence } from './sequences.ts';
import { toStamp } from './time.ts';

type LangCommand = CoreSdk.workflow_commands.IWorkflowCommand;
export type Activation = CoreSdk.workflow_activation.IWorkflowActivation;

const RESET = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;

/** What the server sends with a workflow task or with a direct query. */
export interface Work {
  history: readonly Entry[];
  /** The start event of the last completed workflow task; 0 if there is none. */
  previousStartedId: number;
  updates: readonly UpdateRequest[];
}

/** The workflow's code issues other commands than the history has. */
export class Nondeterminism extends Error {
  override readonly name = 'Nondeterminism';
}

interface Queued {
  command: Command;
  machine: Machine;
  /** Issued in a replay: its payloads are not encoded. */
  isReplayed: boolean;
}

/** The commands and flags that a workflow returned from an activation. */
export interface ActivationResult {
  /** `bytes`: the command before its payloads were encoded. */
  commands: readonly { command: LangCommand; bytes: string }[];
  flags: readonly number[];
}

interface RunName {
  readonly workflowId: string;
  readonly runId: string;
}

export class Machines implements Core {
  replaying = false;
  /** The time of the current workflow task, which the workflow's clock shows. */
  now = 0;
  lastProcessed = 0;
  /** The start event of the last workflow task that the workflow has processed. */
  startedId = 0;
  finished = false;
  readonly flags = new Set<number>();
  /** Updates that a validator rejected since the last workflow task. */
  readonly rejected = new Map<string, Failure>();

  private remaining: readonly Entry[] = [];
  private messages: UpdateRequest[] = [];
  private jobs: Job[] = [];
  private queue: Queued[] = [];
  private previousStartedId = 0;
  private nextStartedId = 0;
  private sdkVersion = '';
  private sizeBytes = 0;
  private continueAsNewSuggested = false;
  private started: Entry | undefined;
  private attributes: NonNullable<
    CommandAttributes['upsertAttributes']['searchAttributes']
  >['indexedFields'] = {};
  private readonly byEvent = new Map<number, Machine>();
  private readonly timers = new Map<number, Timer>();
  private readonly activities = new Map<number, Activity>();
  private readonly children = new Map<number, Child>();
  private readonly signals = new Map<number, External>();
  private readonly updates = new Map<string, Update>();
  /** Requests of updates that a reset applied again: the events that accept them don't repeat them. */
  private readonly admitted = new Map<string, Api.api.update.v1.IRequest>();
  private readonly patches = new Map<string, { requested: boolean }>();
  private readonly workflowId: string;
  private readonly runId: string;
  private readonly codeVersion: string;

  constructor({ workflowId, runId }: RunName, codeVersion: string) {
    this.workflowId = workflowId;
    this.runId = runId;
    this.codeVersion = codeVersion;
  }

  // ---- called by the worker

  take({ history, previousStartedId, updates }: Work): void {
    this.messages = [...updates];
    this.remaining = history;
    this.previousStartedId = previousStartedId;
    this.replaying = previousStartedId > 0;
    for (const entry of history) {
      const request = admittedRequest(entry);
      if (request) this.admitted.set(request.meta?.updateId ?? '', request);
    }
    this.applyNext();
  }

  /** The next activation. It may be without jobs. */
  nextActivation(): Activation {
    if (this.jobs.length === 0) this.applyNext();
    return this.activation();
  }

  /** Applies events until there is a job for the workflow or the history ends. */
  advance(): void {
    while (this.jobs.length === 0) {
      const applied = this.applyNext();
      if (applied === 0 || !this.replaying) return;
    }
  }

  hasJobs(): boolean {
    return this.jobs.length > 0;
  }

  activation(jobs: Job[] = this.drain()): Activation {
    return {
      runId: this.runId,
      timestamp: toStamp(this.now),
      isReplaying: this.replaying || jobs.every((job) => job.queryWorkflow != null),
      historyLength: this.lastProcessed,
      historySizeBytes: Long.fromNumber(this.sizeBytes),
      continueAsNewSuggested: this.continueAsNewSuggested,
      availableInternalFlags: [...this.flags],
      lastSdkVersion: this.sdkVersion,
      suggestContinueAsNewReasons: [],
      jobs: sorted(jobs),
    };
  }

  applyResult({ commands, flags }: ActivationResult): void {
    for (const flag of flags) this.flags.add(flag);
    const ends = commands.filter(({ command }) => isEnd(command)).slice(0, 1);
    for (const requested of [...commands.filter(({ command }) => !isEnd(command)), ...ends])
      this.handle(requested);
  }

  /** The commands for the server. Each leaves the queue when its event is applied. */
  commands(): Command[] {
    return this.queued().map(({ command }) => command);
  }

  /** A command that a replay issued and its workflow task did not. The server accepts it with the next task. */
  extraCommand(): string | undefined {
    return this.queued()
      .find(({ isReplayed }) => isReplayed)
      ?.command.fingerprint.bytes.slice(0, 100);
  }

  /** The server has discarded the last workflow task, which only brought rejected updates. */
  discardSpeculativeTask(startedId: number): void {
    this.startedId = startedId;
    this.lastProcessed -= 2;
  }

  // ---- called by the machines

  addJob(job: Job): void {
    this.jobs.push(job);
  }

  addCommand<T extends CommandType>(
    machine: Machine,
    type: T,
    attributes: CommandAttributes[T],
    bytes?: string,
  ): void {
    const fingerprint = this.fingerprint(`${type} ${bytes ?? JSON.stringify(attributes)}`);
    // TypeScript cannot relate the type of a command to its attributes.
    const command = { type, attributes, fingerprint } as Command;
    this.queue.push({ machine, command, isReplayed: this.replaying && bytes !== undefined });
  }

  advanceClock(ms: number): void {
    this.now = Math.max(this.now, ms);
  }

  private queued(): Queued[] {
    return this.queue.filter(({ machine }) => !machine.dropped);
  }

  // ---- events

  private drain(): Job[] {
    const { jobs } = this;
    this.jobs = [];
    return jobs;
  }

  private applyNext(): number {
    if (this.finished) {
      this.replaying = false;
      return 0;
    }
    const afterId = this.startedId;
    const first = this.remaining.findIndex(({ id }) => id > afterId);
    const unprocessed = first < 0 ? [] : this.remaining.slice(first);
    const sequence = nextSequence(unprocessed, afterId);
    this.remaining = unprocessed.slice(sequence.length);
    const isLast = this.remaining.length === 0;
    const events = sequence.filter(({ id }) => id > this.lastProcessed);
    this.readTaskMetadata(events);
    if (events.length === 0) this.replaying = false;
    const last = events.at(-1);
    if (last?.type === EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED) this.nextStartedId = last.id;
    this.applyEvents(events, isLast);
    this.lookAhead(nextSequence(this.remaining, afterId));
    return events.length;
  }

  private applyEvents(events: readonly Entry[], isLast: boolean): void {
    const before = this.queue.length > 0 && this.replaying;
    let skipNext = false;
    for (const [index, entry] of events.entries()) {
      if (this.replaying && isLast && this.isNewEvent(entry)) this.replaying = false;
      const due = this.messages.filter(({ sequencing }) => sequencing <= entry.id - 1);
      this.messages = this.messages.filter((message) => !due.includes(message));
      for (const message of due) this.beginUpdate(message);
      if (skipNext) skipNext = false;
      else skipNext = this.applyEvent(entry, events[index + 1]);
      this.lastProcessed = entry.id;
    }
    const [extra] = this.queued();
    if (before && this.replaying && extra)
      throw new Nondeterminism(
        `issues a command beyond the end of the history: ${extra.command.fingerprint.bytes}`,
      );
  }

  private isNewEvent(entry: Entry): boolean {
    return (
      entry.id > this.previousStartedId &&
      entry.type !== EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED &&
      !isCommandEvent(entry)
    );
  }

  /** Returns whether the next event belongs to this one. */
  private applyEvent(entry: Entry, next: Entry | undefined): boolean {
    if (isFinal(entry)) this.finished = true;
    if (isCommandEvent(entry)) return this.applyCommandEvent(entry, next);
    const { workflowTaskStartedEventAttributes: task } = entry.event;
    if (task) {
      this.sizeBytes = Number(task.historySizeBytes ?? 0);
      this.continueAsNewSuggested = task.suggestContinueAsNew ?? false;
    }
    const initiatingId = initiatingEventId(entry);
    if (initiatingId === undefined) this.applyExternalEvent(entry);
    else {
      const machine = this.byEvent.get(initiatingId);
      if (machine) machine.take(entry);
      else if (!isUnsolicited(entry))
        throw new Nondeterminism(`did not request what event ${entry.id} resolves`);
    }
    return false;
  }

  private applyExternalEvent(entry: Entry): void {
    const { event } = entry;
    if (event.workflowExecutionStartedEventAttributes) {
      this.started = entry;
      this.advanceClock(entry.at);
      this.addJob(
        initialize(this.workflowId, event.workflowExecutionStartedEventAttributes, event.eventTime),
      );
    } else if (entry.type === EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED)
      this.byEvent.set(entry.id, this.workflowTask());
    else if (event.workflowExecutionSignaledEventAttributes) this.addJob(signaled(entry));
    else if (event.workflowExecutionCancelRequestedEventAttributes)
      this.addJob({
        cancelWorkflow: { reason: event.workflowExecutionCancelRequestedEventAttributes.cause ?? '' },
      });
  }

  private workflowTask(): Machine {
    const endsAt = this.nextStartedId;
    let started: Entry | undefined;
    const take = (entry: Entry) => {
      const { event } = entry;
      if (entry.type === EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED) {
        started = entry;
        if (entry.id >= endsAt) this.taskStarted(endsAt, entry.at);
      } else if (started && event.workflowTaskCompletedEventAttributes)
        this.taskStarted(started.id, started.at);
      else if (event.workflowTaskFailedEventAttributes?.cause === RESET) {
        const randomness = randomnessSeed(event.workflowTaskFailedEventAttributes.newRunId ?? '');
        this.addJob({ updateRandomSeed: { randomnessSeed: randomness } });
      }
    };
    return { dropped: false, take };
  }

  private taskStarted(id: number, at: number): void {
    this.startedId = id;
    this.advanceClock(at);
  }

  private applyCommandEvent(entry: Entry, next: Entry | undefined): boolean {
    const patch = patchMarker(entry);
    // A patch that was requested in a replay without a marker: the answer was no.
    if (!patch) while (this.front()?.command.type === 'patch') this.queue.shift();
    if (patch && !this.isNextPatch(patch)) return this.skipDeprecated(patch, next);
    const front = this.front();
    if (!front) throw new Nondeterminism(`issues no command for event ${entry.id}, ${typeName(entry)}`);
    this.queue.shift();
    this.compare(front.command, entry);
    this.byEvent.set(entry.id, front.machine);
    front.machine.take(entry);
    return false;
  }

  private front(): Queued | undefined {
    while (this.queue[0]?.machine.dropped) this.queue.shift();
    return this.queue[0];
  }

  private isNextPatch({ patchId }: PatchMarker): boolean {
    const command = this.front()?.command;
    return command?.type === 'patch' && command.attributes.patchId === patchId;
  }

  private skipDeprecated({ patchId, deprecated }: PatchMarker, next: Entry | undefined): boolean {
    if (!deprecated) throw new Nondeterminism(`does not request patch ${patchId}`);
    const attributes = next?.event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes;
    return attributes?.indexedFields?.['TemporalChangeVersion'] !== undefined;
  }

  private compare(command: Command, entry: Entry): void {
    if (EVENT_OF[command.type] !== entry.type)
      throw new Nondeterminism(
        `differs at event ${entry.id}, ${typeName(entry)}: it issues ${command.fingerprint.bytes}`,
      );
    if (this.isOwn(entry)) this.compareBytes(command.fingerprint.bytes, entry);
    else this.compareIdentity(identityOf(command), entry);
  }

  private fingerprint(bytes: string): Fingerprint {
    return { bytes, codeVersion: this.codeVersion };
  }

  /** Whether this code issued the command of the event. An imported history does not say. */
  private isOwn({ fingerprint }: Entry): boolean {
    return fingerprint?.codeVersion === this.codeVersion;
  }

  private compareBytes(bytes: string, { id, fingerprint }: Entry): void {
    if (fingerprint?.bytes === bytes) return;
    throw new Nondeterminism(`differs at event ${id}, ${fingerprint?.bytes}: it issues ${bytes}`);
  }

  private compareIdentity(issued: string, entry: Entry): void {
    const recorded = identityIn(entry);
    if (recorded === issued) return;
    throw new Nondeterminism(`differs at event ${entry.id}, ${recorded}: it issues ${issued}`);
  }

  /**
   * Applies what the next sequence has recorded, so that the workflow takes the same decisions in this activation.
   */
  private lookAhead(events: readonly Entry[]): void {
    const later: (() => void)[] = [];
    for (const entry of events) {
      const patch = patchMarker(entry);
      const accepted = entry.event.workflowExecutionUpdateAcceptedEventAttributes;
      if (patch) {
        this.patches.set(patch.patchId, { requested: false });
        this.addJob({ notifyHasPatch: { patchId: patch.patchId } });
      } else if (accepted) {
        const request = this.acceptedRequest(accepted);
        later.push(() => this.beginUpdate(request));
      }
    }
    for (const apply of later) apply();
  }

  private acceptedRequest(accepted: Accepted): UpdateRequest {
    const id = accepted.protocolInstanceId ?? '';
    const { meta, input } = accepted.acceptedRequest ?? this.admitted.get(id) ?? {};
    return {
      id,
      name: input?.name ?? '',
      args: input?.args?.payloads ?? [],
      identity: meta?.identity ?? '',
      sequencing: Number(accepted.acceptedRequestSequencingEventId),
    };
  }

  private beginUpdate(request: UpdateRequest): void {
    const rejected = (failure: Failure) => this.rejected.set(request.id, failure);
    this.updates.set(request.id, new Update(this, request, rejected));
  }

  private readTaskMetadata(events: readonly Entry[]): void {
    const last = events.at(-1);
    const ahead = last && this.remaining.find(({ event }) => event.workflowTaskCompletedEventAttributes);
    for (const { event } of ahead ? [...events, ahead] : events) {
      const { sdkMetadata } = event.workflowTaskCompletedEventAttributes ?? {};
      for (const flag of sdkMetadata?.langUsedFlags ?? []) this.flags.add(flag);
      if (sdkMetadata?.sdkVersion) this.sdkVersion = sdkMetadata.sdkVersion;
    }
  }

  // ---- commands

  private handle({ command, bytes }: ActivationResult['commands'][number]): void {
    this.handleOwn(command, bytes) || this.handleOther(command, bytes) || this.handleCancellation(command);
  }

  private handleOwn(command: LangCommand, bytes: string): boolean {
    const { startTimer, scheduleActivity, updateResponse, setPatchMarker } = command;
    if (startTimer) {
      const timer = new Timer(this, startTimer.seq ?? 0);
      this.timers.set(startTimer.seq ?? 0, timer);
      this.addCommand(timer, 'startTimer', startTimer, bytes);
    } else if (scheduleActivity) {
      const activity = new Activity(this, scheduleActivity);
      this.activities.set(scheduleActivity.seq ?? 0, activity);
      this.addCommand(activity, 'scheduleActivity', scheduleActivity, bytes);
    } else if (updateResponse) this.respond(updateResponse.protocolInstanceId ?? '', updateResponse, bytes);
    else if (setPatchMarker)
      this.patch(setPatchMarker.patchId ?? '', setPatchMarker.deprecated ?? false, bytes);
    else return false;
    return true;
  }

  private respond(id: string, response: Parameters<Update['respond']>[0], bytes: string): void {
    const update = this.updates.get(id);
    if (!update) throw new Nondeterminism(`answers update ${id}, which it did not receive`);
    update.respond(response, bytes);
  }

  private patch(patchId: string, deprecated: boolean, bytes: string): void {
    const known = this.patches.get(patchId);
    if (known?.requested) return;
    const patchIds = [...this.patches].filter(([, { requested }]) => requested).map(([id]) => id);
    this.addCommand(NEVER_RESOLVES, 'patch', { patchId, deprecated }, bytes);
    if (!this.replaying || known)
      this.addCommand(NEVER_RESOLVES, 'patchedAttributes', { patchIds: [...patchIds, patchId].toSorted() });
    this.patches.set(patchId, { requested: true });
  }

  private handleOther(command: LangCommand, bytes: string): boolean {
    const { upsertWorkflowSearchAttributes: upsert, modifyWorkflowProperties: properties } = command;
    const { startChildWorkflowExecution: child, signalExternalWorkflowExecution: signal } = command;
    const { requestCancelExternalWorkflowExecution: cancel } = command;
    if (upsert) {
      Object.assign(this.attributes ?? {}, upsert.searchAttributes?.indexedFields);
      this.addCommand(NEVER_RESOLVES, 'upsertAttributes', upsert, bytes);
    } else if (properties) this.addCommand(NEVER_RESOLVES, 'modifyProperties', properties, bytes);
    else if (child) {
      const machine = new Child(this, child);
      this.children.set(child.seq ?? 0, machine);
      this.addCommand(machine, 'startChild', child, bytes);
    } else if (signal) {
      const machine = new External(this, signal.seq ?? 0, 'resolveSignalExternalWorkflow');
      this.signals.set(signal.seq ?? 0, machine);
      this.addCommand(machine, 'signalExternal', signal, bytes);
    } else if (cancel) this.cancelExternal(cancel, bytes);
    else return this.handleEnd(command, bytes);
    return true;
  }

  private cancelExternal(
    { seq, workflowExecution, reason }: NonNullable<LangCommand['requestCancelExternalWorkflowExecution']>,
    bytes: string,
  ): void {
    const { workflowId, runId } = workflowExecution ?? {};
    const attributes = {
      workflowId: workflowId ?? '',
      runId: runId ?? '',
      childOnly: false,
      reason: reason ?? '',
    };
    const machine = new External(this, seq ?? 0, 'resolveRequestCancelExternalWorkflow');
    this.addCommand(machine, 'cancelExternal', attributes, bytes);
  }

  private handleEnd(command: LangCommand, bytes: string): boolean {
    const { completeWorkflowExecution: complete, failWorkflowExecution: fail } = command;
    if (complete) this.addCommand(NEVER_RESOLVES, 'complete', complete, bytes);
    else if (fail) this.addCommand(NEVER_RESOLVES, 'fail', fail, bytes);
    else if (command.cancelWorkflowExecution)
      this.addCommand(NEVER_RESOLVES, 'cancel', command.cancelWorkflowExecution, bytes);
    else if (command.continueAsNewWorkflowExecution)
      this.addCommand(
        NEVER_RESOLVES,
        'continueAsNew',
        this.withCurrentValues(command.continueAsNewWorkflowExecution),
        bytes,
      );
    else return false;
    return true;
  }

  private withCurrentValues(next: CommandAttributes['continueAsNew']): CommandAttributes['continueAsNew'] {
    const started = this.started?.event.workflowExecutionStartedEventAttributes;
    const attributes = { ...started?.searchAttributes?.indexedFields, ...this.attributes };
    const hasMemo = Object.keys(next.memo ?? {}).length > 0;
    return {
      ...next,
      memo: hasMemo ? (next.memo ?? {}) : (started?.memo?.fields ?? {}),
      retryPolicy: next.retryPolicy ?? started?.retryPolicy ?? null,
      searchAttributes: next.searchAttributes ?? { indexedFields: attributes },
    };
  }

  private handleCancellation(command: LangCommand): boolean {
    const { cancelTimer, requestCancelActivity } = command;
    const { cancelChildWorkflowExecution: child, cancelSignalWorkflow } = command;
    if (cancelTimer) this.timers.get(cancelTimer.seq ?? 0)?.cancel();
    else if (requestCancelActivity) this.activities.get(requestCancelActivity.seq ?? 0)?.cancel();
    else if (child) this.children.get(child.childWorkflowSeq ?? 0)?.cancel(child.reason ?? '');
    else if (cancelSignalWorkflow) this.signals.get(cancelSignalWorkflow.seq ?? 0)?.cancel();
    else throw new Error(`not simulated: ${Object.keys(command).join()}`);
    return true;
  }
}

function isEnd(command: LangCommand): boolean {
  return Boolean(
    command.completeWorkflowExecution ||
      command.failWorkflowExecution ||
      command.cancelWorkflowExecution ||
      command.continueAsNewWorkflowExecution,
  );
}

function isUnsolicited({ type }: Entry): boolean {
  // The server reports on a child or another workflow that was canceled without waiting.
  return (
    type === EventType.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED ||
    type === EventType.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED
  );
}

type Accepted = NonNullable<Entry['event']['workflowExecutionUpdateAcceptedEventAttributes']>;

function typeName({ type }: Entry): string {
  return EventType[type];
}
