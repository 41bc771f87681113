/**
 * The service that `@temporalio/client` connects to. Requests and responses are real protobuf messages in bytes, and
 * take virtual time. Methods that are not listed here answer UNIMPLEMENTED.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  Client,
  type ClientInterceptors,
  type ClientOptions,
  type ConnectionLike,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import type { Clock } from '../../src/runtime/runtime.ts';
import { clientInterceptors } from '../../src/temporal/queries.ts';
import type { Life } from '../process/life.ts';
import { type Api, temporal } from '../sdk.ts';
import { grpcError, notFound } from './errors.ts';
import { type Entry, exported, isFinal } from './history.ts';
import type { PendingActivity } from './pending-activity.ts';
import { id, type QueryAnswer, type Run, type Update } from './run.ts';
import { Schedules } from './schedules.ts';
import type { Temporal } from './temporal.ts';
import { durationMs, toStamp } from './time.ts';
import { infoOf, Visibility } from './visibility.ts';

const api = temporal.api.workflowservice.v1;
const {
  UpdateWorkflowExecutionLifecycleStage: Stage,
  HistoryEventFilterType,
  PendingActivityState,
  PendingWorkflowTaskState,
} = temporal.api.enums.v1;
type Requests = Api.api.workflowservice.v1.WorkflowService;

const { GetWorkflowExecutionHistoryResponse: HistoryAnswer } = api;
const HISTORY_METHOD = 'getworkflowexecutionhistory';

const LATENCY_MS = 5;
const LONG_POLL_MS = 20_000;
const QUERY_LIMIT_MS = 30_000;

interface Request<T> {
  decode(bytes: Uint8Array): T;
}
interface Answer<T> {
  encode(message: T): { finish(): Uint8Array };
}
/** The owner of a client. */
interface Caller {
  /** Resolves when a request can be sent. */
  connected(): Promise<void>;
  clock: Clock;
}
type HistoryRequest = Api.api.workflowservice.v1.IGetWorkflowExecutionHistoryRequest;
type Handler = (bytes: Uint8Array) => Promise<Uint8Array>;
/** Returns the result of the work. */
export type Drive = <T>(work: Promise<T>) => Promise<T>;

/** Probabilities for each request of a client. */
export interface Losses {
  /** The request is refused and has no effect. */
  refused: number;
  /** The request takes effect, and its response is lost. */
  lost: number;
}

/** The retries of the SDK's client. */
const MAX_ATTEMPTS = 10;
const retryDelayMs = (attempt: number) => Math.min(5_000, 100 * 1.7 ** attempt);
/** Temporal deduplicates these by request id and repeats its first response. */
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set([
  'startworkflowexecution',
  'signalwithstartworkflowexecution',
  'signalworkflowexecution',
  'requestcancelworkflowexecution',
  'resetworkflowexecution',
  'createschedule',
  'updateschedule',
]);

/** One instance for all clients: Node carries every instance along with each promise. */
const deadlines = new AsyncLocalStorage<number>();

export class Service {
  readonly visibility: Visibility;
  losses: Losses | undefined;
  /** Refuses all requests. */
  isUnavailable = false;
  /** Answers some requests in place of the server, at once: those for which it returns bytes. */
  stub: ((method: string, bytes: Uint8Array) => Uint8Array | undefined) | undefined;
  /** How often a query is dispatched within its time. Core may drop the first one. */
  queryAttempts = 1;
  private readonly schedules: Schedules;
  private readonly server: Temporal;
  private readonly handlers: ReadonlyMap<string, Handler>;

  constructor(server: Temporal, visibility = new Visibility(server)) {
    this.server = server;
    this.visibility = visibility;
    this.schedules = new Schedules(server);
    this.handlers = this.handlerTable();
  }

  /** A client that waits in virtual time. */
  client(options: Omit<ClientOptions, 'connection' | 'namespace'> = {}): Client {
    const { world } = this.server;
    const connection = this.connection({ connected: async () => undefined, clock: world });
    return new Client({
      interceptors: this.interceptors(world),
      ...options,
      connection,
      namespace: 'default',
    });
  }

  /**
   * The connection of a program outside of the world, whose deadlines are in real time. `drive` runs the world while a
   * request is open.
   */
  outsideConnection(drive: Drive): ConnectionLike {
    const { world } = this.server;
    const connection = this.connection({ connected: async () => undefined, clock: world }, drive);
    const { withDeadline } = connection;
    // Requests within one deadline share the virtual time that is left. The deadline is by either clock, of which one lags.
    const nowMs = () => Math.min(Date.now(), world.wallMs());
    return {
      ...connection,
      withDeadline: (deadline, action) => withDeadline(world.wallMs() + Number(deadline) - nowMs(), action),
    };
  }

  /** One request of a program outside of the world. `path`: as in gRPC. */
  outsideRequest(path: string, bytes: Uint8Array, withinMs: number | undefined): Promise<Uint8Array> {
    const { world } = this.server;
    const caller = { connected: async () => undefined, clock: world };
    const deadline = withinMs === undefined ? undefined : world.wallMs() + withinMs;
    return this.withDeadline(caller, deadline, () => this.call(path.split('/').at(-1) ?? '', bytes, caller));
  }

  /** The client of a process. Its requests wait while the process is cut off, and are lost when the process ends. */
  clientOf(life: Life, options: Omit<ClientOptions, 'connection' | 'namespace'> = {}): Client {
    const connection = this.connection({ connected: () => life.connected(), clock: life });
    return new Client({
      interceptors: this.interceptors(life),
      ...options,
      connection,
      namespace: 'default',
    });
  }

  /** The product's interceptors, and seeded update ids: the client would draw them from real randomness. */
  interceptors(clock: Clock): ClientInterceptors {
    const { random } = this.server.world;
    const seeded: WorkflowClientInterceptor = {
      startUpdate: (input, next) =>
        next({ ...input, options: { updateId: random.uuid(), ...input.options } }),
    };
    const { workflow } = clientInterceptors(clock);
    return { workflow: [seeded, ...(Array.isArray(workflow) ? workflow : [])] };
  }

  private connection(caller: Caller, drive: Drive = (work) => work): ConnectionLike {
    const send = <T>(call: () => Promise<T>) => drive(this.withDeadline(caller, deadlines.getStore(), call));
    const workflowService: Requests = api.WorkflowService.create((method, bytes, callback) => {
      send(() => this.call(method.name, bytes, caller)).then(
        (answer) => callback(null, answer),
        (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
      );
    });
    // Without an encoding: a world reads millions of events.
    Object.assign(workflowService, {
      getWorkflowExecutionHistory: (request: HistoryRequest) => send(() => this.readHistory(request, caller)),
    });
    const operatorService = temporal.api.operatorservice.v1.OperatorService.create(
      (method, _bytes, callback) => callback(grpcError('UNIMPLEMENTED', method.name)),
    );
    const passThrough = <R>(action: () => Promise<R>) => action();
    return {
      workflowService,
      operatorService,
      plugins: [],
      close: async () => undefined,
      ensureConnected: async () => undefined,
      withDeadline: (deadline, action) => deadlines.run(Number(deadline), action),
      withMetadata: (_metadata, action) => passThrough(action),
      withAbortSignal: (_signal, action) => passThrough(action),
    };
  }

  /** `deadline`: by the caller's wall clock. The request may still arrive. */
  private withDeadline<T>(
    { clock }: Caller,
    deadline: number | undefined,
    send: () => Promise<T>,
  ): Promise<T> {
    if (deadline === undefined) return send();
    return new Promise((resolve, reject) => {
      const cancelTimer = clock.after(deadline - clock.wallMs(), () =>
        reject(grpcError('DEADLINE_EXCEEDED', 'Deadline exceeded')),
      );
      send().then(resolve, reject).finally(cancelTimer);
    });
  }

  private async call(method: string, bytes: Uint8Array, caller: Caller): Promise<Uint8Array> {
    const name = method.toLowerCase();
    const stubbed = this.stub?.(name, bytes);
    if (stubbed) return stubbed;
    const handler = this.handlers.get(name);
    if (!handler) throw grpcError('UNIMPLEMENTED', `${method} is not simulated`);
    return this.attempts(name, caller, () => handler(bytes));
  }

  private async readHistory(request: HistoryRequest, caller: Caller) {
    const stubbed = this.stub?.(
      HISTORY_METHOD,
      api.GetWorkflowExecutionHistoryRequest.encode(request).finish(),
    );
    if (stubbed) return HistoryAnswer.decode(stubbed);
    return this.attempts(HISTORY_METHOD, caller, () => this.history(request));
  }

  private async attempts<T>(name: string, { connected }: Caller, handle: () => T | Promise<T>): Promise<T> {
    const { world } = this.server;
    let firstAnswer: T | undefined;
    for (let attempt = 1; ; attempt += 1) {
      await connected();
      await world.sleep(world.random.between(1, LATENCY_MS));
      const fate = this.fate();
      if (fate !== 'refused') {
        const answer = firstAnswer ?? (await handle());
        await world.sleep(world.random.between(1, LATENCY_MS));
        await connected();
        if (fate === 'served') return answer;
        if (IDEMPOTENT_METHODS.has(name)) firstAnswer = answer;
      }
      if (attempt === MAX_ATTEMPTS) throw grpcError('UNAVAILABLE', 'Temporal is unavailable');
      await world.sleep(retryDelayMs(attempt));
    }
  }

  private fate(): 'served' | 'refused' | 'lost' {
    const { world } = this.server;
    if (this.isUnavailable) return 'refused';
    if (!this.losses) return 'served';
    const drawn = world.random.next();
    const { refused, lost } = this.losses;
    if (drawn >= refused + lost) return 'served';
    const fate = drawn < refused ? 'refused' : 'lost';
    world.occurred.add(`Temporal: request ${fate}`);
    return fate;
  }

  private handlerTable(): Map<string, Handler> {
    const method = <Q, A>(
      request: Request<Q>,
      response: Answer<A>,
      handle: (request: Q) => A | Promise<A>,
    ): Handler => {
      return async (bytes) => response.encode(await handle(request.decode(bytes))).finish();
    };
    return new Map<string, Handler>([
      [
        'startworkflowexecution',
        method(api.StartWorkflowExecutionRequest, api.StartWorkflowExecutionResponse, (request) =>
          this.start(request),
        ),
      ],
      [
        'signalwithstartworkflowexecution',
        method(
          api.SignalWithStartWorkflowExecutionRequest,
          api.SignalWithStartWorkflowExecutionResponse,
          (request) => {
            const use =
              temporal.api.enums.v1.WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING;
            const answer = this.start({ ...request, workflowIdConflictPolicy: use });
            const run = this.server.running(request.workflowId);
            this.server.signal(
              run,
              request.signalName,
              request.signalInput?.payloads ?? [],
              request.identity,
            );
            return answer;
          },
        ),
      ],
      [
        'signalworkflowexecution',
        method(api.SignalWorkflowExecutionRequest, api.SignalWorkflowExecutionResponse, (request) => {
          const run = this.runningOf(request.workflowExecution);
          if (run.signalIds.has(request.requestId)) return {};
          if (request.requestId) run.signalIds.add(request.requestId);
          this.server.signal(run, request.signalName, request.input?.payloads ?? [], request.identity);
          return {};
        }),
      ],
      [
        'requestcancelworkflowexecution',
        method(
          api.RequestCancelWorkflowExecutionRequest,
          api.RequestCancelWorkflowExecutionResponse,
          (request) => {
            this.server.requestCancel(this.runningOf(request.workflowExecution), request.reason);
            return {};
          },
        ),
      ],
      [
        'terminateworkflowexecution',
        method(api.TerminateWorkflowExecutionRequest, api.TerminateWorkflowExecutionResponse, (request) => {
          this.server.terminate(this.runningOf(request.workflowExecution), request.reason);
          return {};
        }),
      ],
      [
        'deleteworkflowexecution',
        method(
          api.DeleteWorkflowExecutionRequest,
          api.DeleteWorkflowExecutionResponse,
          ({ workflowExecution }) => {
            const run = this.runOf(workflowExecution);
            this.server.forget(run);
            this.visibility.forget(run);
            return {};
          },
        ),
      ],
      [
        'resetworkflowexecution',
        method(api.ResetWorkflowExecutionRequest, api.ResetWorkflowExecutionResponse, (request) => {
          const run = this.runOf(request.workflowExecution);
          return {
            runId: this.server.reset(run, Number(request.workflowTaskFinishEventId), request.reason).runId,
          };
        }),
      ],
      [
        'describeworkflowexecution',
        method(api.DescribeWorkflowExecutionRequest, api.DescribeWorkflowExecutionResponse, ({ execution }) =>
          described(this.runOf(execution), this.server.pendingOf(this.runOf(execution))),
        ),
      ],
      [
        'describetaskqueue',
        method(api.DescribeTaskQueueRequest, api.DescribeTaskQueueResponse, ({ taskQueue }) => ({
          pollers: this.server
            .pollersOf(taskQueue?.name ?? '')
            .map(({ identity, since }) => ({ identity, lastAccessTime: toStamp(since) })),
        })),
      ],
      [
        HISTORY_METHOD,
        method(api.GetWorkflowExecutionHistoryRequest, HistoryAnswer, (request) => this.history(request)),
      ],
      [
        'getworkflowexecutionhistoryreverse',
        method(
          api.GetWorkflowExecutionHistoryReverseRequest,
          api.GetWorkflowExecutionHistoryReverseResponse,
          ({ execution, maximumPageSize }) => {
            const entries = this.runOf(execution).entries.toReversed();
            return { history: exported(entries.slice(0, maximumPageSize || entries.length)) };
          },
        ),
      ],
      [
        'queryworkflow',
        method(api.QueryWorkflowRequest, api.QueryWorkflowResponse, (request) => this.query(request)),
      ],
      [
        'updateworkflowexecution',
        method(api.UpdateWorkflowExecutionRequest, api.UpdateWorkflowExecutionResponse, (request) =>
          this.update(request),
        ),
      ],
      [
        'executemultioperation',
        method(api.ExecuteMultiOperationRequest, api.ExecuteMultiOperationResponse, ({ operations }) =>
          this.updateWithStart(operations),
        ),
      ],
      [
        'pollworkflowexecutionupdate',
        method(api.PollWorkflowExecutionUpdateRequest, api.PollWorkflowExecutionUpdateResponse, (request) =>
          this.pollUpdate(request),
        ),
      ],
      [
        'recordactivitytaskheartbeat',
        method(
          api.RecordActivityTaskHeartbeatRequest,
          api.RecordActivityTaskHeartbeatResponse,
          ({ taskToken, details }) => {
            const answer = this.server.heartbeat(Buffer.from(taskToken).toString(), details?.payloads ?? []);
            if (answer === 'NOT_FOUND') throw grpcError('NOT_FOUND', 'activity not found');
            return { cancelRequested: answer === 'CANCELLED' };
          },
        ),
      ],
      [
        'createschedule',
        method(api.CreateScheduleRequest, api.CreateScheduleResponse, ({ scheduleId, schedule }) => {
          this.schedules.create(scheduleId, schedule ?? {});
          return {};
        }),
      ],
      [
        'describeschedule',
        method(api.DescribeScheduleRequest, api.DescribeScheduleResponse, ({ scheduleId }) => ({
          schedule: this.schedules.find(scheduleId),
          info: { createTime: toStamp(this.server.world.now) },
        })),
      ],
      [
        'updateschedule',
        method(api.UpdateScheduleRequest, api.UpdateScheduleResponse, ({ scheduleId, schedule }) => {
          this.schedules.update(scheduleId, schedule ?? {});
          return {};
        }),
      ],
      [
        'describenamespace',
        method(api.DescribeNamespaceRequest, api.DescribeNamespaceResponse, ({ namespace }) => {
          if (namespace !== 'default') throw notFound(`namespace ${namespace}`);
          const failoverVersion = id(this.server.failoverVersion);
          return { namespaceInfo: { name: 'default', capabilities: {} }, failoverVersion };
        }),
      ],
      [
        'listworkflowexecutions',
        method(
          api.ListWorkflowExecutionsRequest,
          api.ListWorkflowExecutionsResponse,
          ({ query, pageSize, nextPageToken }) => {
            const found = this.visibility.find(query, Buffer.from(nextPageToken).toString());
            const page = found.slice(0, pageSize || found.length);
            const token = page.length < found.length ? (page.at(-1)?.token ?? '') : '';
            return { executions: page.map(({ info }) => info), nextPageToken: Buffer.from(token) };
          },
        ),
      ],
      [
        'countworkflowexecutions',
        method(api.CountWorkflowExecutionsRequest, api.CountWorkflowExecutionsResponse, ({ query }) => ({
          count: id(this.visibility.find(query).length),
        })),
      ],
    ]);
  }

  private runOf(execution: Api.api.common.v1.IWorkflowExecution | null | undefined): Run {
    return this.server.find(execution?.workflowId ?? '', execution?.runId);
  }

  private runningOf(execution: Api.api.common.v1.IWorkflowExecution | null | undefined): Run {
    return this.server.running(execution?.workflowId ?? '', execution?.runId);
  }

  private start(request: Api.api.workflowservice.v1.IStartWorkflowExecutionRequest): object {
    const { run, isNew } = this.server.start({
      workflowId: request.workflowId ?? '',
      reuse: request.workflowIdReusePolicy ?? undefined,
      conflict: request.workflowIdConflictPolicy ?? undefined,
      started: {
        workflowType: request.workflowType ?? null,
        taskQueue: request.taskQueue ?? null,
        input: request.input ?? null,
        header: request.header ?? null,
        memo: request.memo ?? null,
        searchAttributes: request.searchAttributes ?? null,
        identity: request.identity ?? '',
        ...(request.workflowTaskTimeout && { workflowTaskTimeout: request.workflowTaskTimeout }),
        ...this.expiry(durationMs(request.workflowExecutionTimeout)),
      },
    });
    return { runId: run.runId, started: isNew, status: run.status };
  }

  private expiry(timeoutMs: number | undefined) {
    if (!timeoutMs) return {};
    const workflowExecutionExpirationTime = toStamp(this.server.world.now + timeoutMs);
    return { workflowExecutionTimeout: toStamp(timeoutMs), workflowExecutionExpirationTime };
  }

  /** A page starts after the event id in the token, so an empty long poll resumes at the same place. */
  private async history(request: HistoryRequest) {
    const token = Buffer.from(request.nextPageToken ?? []).toString();
    const [runId, after] = token ? token.split(' ') : [this.runOf(request.execution).runId, '0'];
    const run = this.server.find(request.execution?.workflowId ?? '', runId);
    const closeEventOnly =
      request.historyEventFilterType === HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    const newEntries = (): Entry[] =>
      run.entries.filter((entry) => entry.id > Number(after) && (!closeEventOnly || isFinal(entry)));
    if (request.waitNewEvent) await this.until(run.watchers, () => newEntries().length > 0 || !run.isRunning);
    const size = request.maximumPageSize || 1000;
    const events = newEntries().slice(0, size);
    const hasMore = request.waitNewEvent ? run.isRunning : newEntries().length > events.length;
    const next = `${run.runId} ${events.at(-1)?.id ?? after}`;
    const nextPageToken = hasMore ? Buffer.from(next) : new Uint8Array();
    return HistoryAnswer.create({ nextPageToken, history: exported(events) });
  }

  private async query(request: Api.api.workflowservice.v1.IQueryWorkflowRequest): Promise<object> {
    const run = this.runOf(request.execution);
    const { queryType, queryArgs } = request.query ?? {};
    const { world } = this.server;
    let answer: QueryAnswer | undefined;
    for (let left = this.queryAttempts; !answer && left > 0; left -= 1) {
      const late = new Promise<undefined>((resolve) => {
        world.at(QUERY_LIMIT_MS / this.queryAttempts, () => resolve(undefined));
      });
      answer = await Promise.race([this.server.query(run, queryType ?? '', queryArgs?.payloads ?? []), late]);
    }
    if (!answer) throw grpcError('DEADLINE_EXCEEDED', 'no worker answered the query');
    if ('failure' in answer) throw grpcError('INVALID_ARGUMENT', answer.failure.message ?? '');
    return { queryResult: { payloads: answer.result ? [answer.result] : [] } };
  }

  private async update({
    workflowExecution,
    request,
    waitPolicy,
  }: Api.api.workflowservice.v1.IUpdateWorkflowExecutionRequest): Promise<object> {
    const run = this.runningOf(workflowExecution);
    const { meta, input } = request ?? {};
    const updateRequest = {
      id: meta?.updateId || this.server.world.random.uuid(),
      name: input?.name ?? '',
      args: input?.args?.payloads ?? [],
      identity: meta?.identity ?? '',
    };
    return this.awaitStage(run, this.server.update(run, updateRequest), waitPolicy?.lifecycleStage ?? 0);
  }

  /** Temporal serves no other pair of operations. */
  private async updateWithStart([
    start,
    update,
  ]: Api.api.workflowservice.v1.ExecuteMultiOperationRequest.IOperation[]): Promise<object> {
    if (!start?.startWorkflow || !update?.updateWorkflow)
      throw grpcError('INVALID_ARGUMENT', 'Operations have to be exactly [Start, Update]');
    const startWorkflow = this.start(start.startWorkflow);
    return { responses: [{ startWorkflow }, { updateWorkflow: await this.update(update.updateWorkflow) }] };
  }

  private async pollUpdate({
    updateRef,
    waitPolicy,
  }: Api.api.workflowservice.v1.IPollWorkflowExecutionUpdateRequest): Promise<object> {
    const run = this.runOf(updateRef?.workflowExecution);
    const update = run.updates.get(updateRef?.updateId ?? '');
    if (!update) throw grpcError('NOT_FOUND', `update ${updateRef?.updateId} not found`);
    return this.awaitStage(run, update, waitPolicy?.lifecycleStage ?? 0);
  }

  private async awaitStage(run: Run, update: Update, wantedStage: number): Promise<object> {
    await this.until(
      update.watchers,
      () => stageOf(update) >= Math.max(wantedStage, 1) || update.state === 'lost',
    );
    if (update.state === 'lost') throw grpcError('NOT_FOUND', 'workflow execution already completed');
    const workflowExecution = { workflowId: run.workflowId, runId: run.runId };
    return {
      updateRef: { workflowExecution, updateId: update.request.id },
      stage: stageOf(update),
      outcome: update.outcome ?? null,
    };
  }

  /** Resolves when `done` holds, or when the long poll ends. */
  private async until(watchers: (() => void)[], done: () => boolean): Promise<void> {
    if (done()) return;
    await new Promise<void>((resolve) => {
      const check = () => {
        if (!done()) return;
        late.canceled = true;
        end();
      };
      const end = () => {
        watchers.splice(watchers.indexOf(check), 1);
        resolve();
      };
      const late = this.server.world.at(LONG_POLL_MS, end);
      watchers.push(check);
    });
  }
}

function stageOf({ state }: Update): number {
  if (state === 'completed' || state === 'rejected')
    return Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED;
  return state === 'accepted'
    ? Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED
    : Stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED;
}

function described(run: Run, activities: readonly PendingActivity[]): object {
  const { task } = run;
  const states = PendingWorkflowTaskState;
  return {
    workflowExecutionInfo: infoOf(run),
    pendingActivities: activities.map(
      ({ attributes, attempt, isStarted, startedAt, lastHeartbeatAt, heartbeatDetails, identity }) => ({
        activityId: attributes.activityId ?? '',
        activityType: { name: attributes.activityType ?? '' },
        attempt,
        state: isStarted
          ? PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
          : PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED,
        ...(startedAt !== undefined && { lastStartedTime: toStamp(startedAt) }),
        lastWorkerIdentity: identity,
        heartbeatDetails: { payloads: [...heartbeatDetails] },
        lastHeartbeatTime: lastHeartbeatAt === undefined ? null : toStamp(lastHeartbeatAt),
      }),
    ),
    pendingWorkflowTask: task && {
      state:
        task.startedId === undefined
          ? states.PENDING_WORKFLOW_TASK_STATE_SCHEDULED
          : states.PENDING_WORKFLOW_TASK_STATE_STARTED,
      scheduledTime: toStamp(task.scheduledAt),
      attempt: task.attempt,
    },
  };
}
