/**
 * A stand-in for the Temporal server, without workflows: the client, its converters and its protobuf are real. A workflow
 * exists if its id contains a long caller's id.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Client, type ConnectionLike } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import proto from '@temporalio/proto';
import { PROCESS_RUNTIME } from '../src/runtime/process.ts';
import { clientInterceptors } from '../src/temporal/queries.ts';
import { grpcError, notFound } from '../worlds/temporal/errors.ts';

const { temporal } = proto;
const api = temporal.api.workflowservice.v1;
const Completed = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED;
const Running = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING;
const UpdateCompleted =
  temporal.api.enums.v1.UpdateWorkflowExecutionLifecycleStage
    .UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED;
const ExecutionCompleted = temporal.api.enums.v1.EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED;
const ExecutionStarted = temporal.api.enums.v1.EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED;

/** The requests to Temporal that one input caused. */
export interface Done {
  starts: { workflowId: string; type: string; argument: unknown; memo: Fields }[];
  signals: { workflowId: string; name: string; argument: unknown }[];
  updates: { workflowId: string; name: string }[];
}

type Fields = { [name: string]: proto.temporal.api.common.v1.IPayload } | null | undefined;
type Payloads = { payloads?: proto.temporal.api.common.v1.IPayload[] | null } | null | undefined;

const done = new AsyncLocalStorage<Done>();
const nowhere: Done = { starts: [], signals: [], updates: [] };

/** Runs `work` and records its requests to Temporal, except those over a socket. */
export async function watched<T>(work: () => Promise<T>): Promise<{ answer: T; did: Done }> {
  const did: Done = { starts: [], signals: [], updates: [] };
  return { answer: await done.run(did, work), did };
}

/** The results of workflows by type. */
export type Ends = Readonly<Record<string, unknown>>;

export interface StandIn {
  /** Results by workflow type. */
  ends: Ends;
  /** Answers to queries and updates by prefix of the workflow id; `argument`: the one with which this input started it. */
  states: readonly (readonly [idPrefix: string, state: (argument: unknown) => unknown])[];
  /** Answers to queries other than for the state, by name. */
  queries: Readonly<Record<string, unknown>>;
  /** The argument of the existing workflow with this id. */
  argumentOf(workflowId: string): unknown;
}

/** Whether a workflow exists: in three of four cases, if its id is too long to be drawn twice. */
export function exists(workflowId: string): boolean {
  const number = workflowId.slice(workflowId.lastIndexOf(':') + 1);
  return number.length >= 16 && number.charCodeAt(number.length - 1) % 4 !== 0;
}

export function standInClient(standIn: StandIn): Client {
  const handlers = handlersOf(standIn);
  const workflowService = api.WorkflowService.create((method, bytes, callback) => {
    const handle = handlers[method.name];
    // Asynchronous, as over a socket.
    setImmediate(() => {
      try {
        if (!handle) throw grpcError('UNIMPLEMENTED', method.name);
        callback(null, handle(bytes));
      } catch (error) {
        callback(error instanceof Error ? error : new Error(String(error)));
      }
    });
  });
  const operatorService = temporal.api.operatorservice.v1.OperatorService.create((method, _bytes, callback) =>
    callback(grpcError('UNIMPLEMENTED', method.name)),
  );
  const through = <R>(_how: unknown, act: () => Promise<R>) => act();
  const connection: ConnectionLike = {
    ...{ workflowService, operatorService, plugins: [] },
    ...{ close: async () => undefined, ensureConnected: async () => undefined },
    ...{ withDeadline: through, withMetadata: through, withAbortSignal: through },
  };
  return new Client({
    ...{ connection, namespace: 'default' },
    interceptors: clientInterceptors(PROCESS_RUNTIME.clock),
  });
}

type Handlers = Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>>;

interface Type<T> {
  decode(bytes: Uint8Array): T;
}
interface AnswerType<T> {
  fromObject(object: object): T;
  encode(message: T): { finish(): Uint8Array };
}

function handler<Q, A>(request: Type<Q>, answer: AnswerType<A>, handle: (request: Q) => object) {
  return (bytes: Uint8Array) => answer.encode(answer.fromObject(handle(request.decode(bytes)))).finish();
}

function handlersOf(standIn: StandIn): Handlers {
  const stateOf = (workflowId: string) =>
    standIn.states.find(([prefix]) => workflowId.startsWith(prefix))?.[1](startedHere(workflowId)?.argument);
  /** The types of workflows that are started only for their result. */
  const typeOf = (workflowId: string) => Object.keys(standIn.ends).find((type) => typed(workflowId, type));
  return {
    GetSystemInfo: handler(api.GetSystemInfoRequest, api.GetSystemInfoResponse, () => ({})),
    DescribeNamespace: handler(api.DescribeNamespaceRequest, api.DescribeNamespaceResponse, () => ({})),
    StartWorkflowExecution: handler(
      api.StartWorkflowExecutionRequest,
      api.StartWorkflowExecutionResponse,
      ({ workflowId, workflowType, input, memo }) => {
        demandText(workflowId);
        // One in five of the existing workflows is already there, unless the product drew its id.
        if (
          BY_CALLERS.test(workflowId) &&
          exists(workflowId) &&
          workflowId.charCodeAt(workflowId.length - 2) % 5 === 0
        )
          throw grpcError('ALREADY_EXISTS', 'Workflow execution already started');
        const type = workflowType?.name ?? '';
        (done.getStore() ?? nowhere).starts.push({
          workflowId,
          type,
          argument: argumentIn(input),
          memo: memo?.fields,
        });
        return { runId: RUN, started: true };
      },
    ),
    SignalWorkflowExecution: handler(
      api.SignalWorkflowExecutionRequest,
      api.SignalWorkflowExecutionResponse,
      ({ workflowExecution, signalName: name, input }) => {
        const workflowId = known(workflowExecution);
        (done.getStore() ?? nowhere).signals.push({ workflowId, name, argument: argumentIn(input) });
        return {};
      },
    ),
    RequestCancelWorkflowExecution: handler(
      api.RequestCancelWorkflowExecutionRequest,
      api.RequestCancelWorkflowExecutionResponse,
      ({ workflowExecution }) => {
        known(workflowExecution);
        return {};
      },
    ),
    QueryWorkflow: handler(api.QueryWorkflowRequest, api.QueryWorkflowResponse, ({ execution, query }) => {
      const workflowId = known(execution);
      const name = query?.queryType ?? '';
      const answer = name in standIn.queries ? standIn.queries[name] : stateOf(workflowId);
      return { queryResult: { payloads: [payload(answer)] } };
    }),
    UpdateWorkflowExecution: handler(
      api.UpdateWorkflowExecutionRequest,
      api.UpdateWorkflowExecutionResponse,
      ({ workflowExecution, request }) => {
        const workflowId = known(workflowExecution);
        (done.getStore() ?? nowhere).updates.push({ workflowId, name: request?.input?.name ?? '' });
        return {
          updateRef: {
            workflowExecution: { workflowId, runId: RUN },
            updateId: request?.meta?.updateId ?? '',
          },
          stage: UpdateCompleted,
          outcome: { success: { payloads: [payload(stateOf(workflowId))] } },
        };
      },
    ),
    DescribeWorkflowExecution: handler(
      api.DescribeWorkflowExecutionRequest,
      api.DescribeWorkflowExecutionResponse,
      ({ execution }) => {
        const workflowId = known(execution);
        return {
          workflowExecutionInfo: {
            execution: { workflowId, runId: RUN },
            type: { name: 'payout' },
            status: typeOf(workflowId) === undefined ? Running : Completed,
            startTime: { seconds: 1_700_000_000 },
            memo: { fields: startedHere(workflowId)?.memo ?? { startedBy: payload(STARTER) } },
          },
        };
      },
    ),
    GetWorkflowExecutionHistory: handler(
      api.GetWorkflowExecutionHistoryRequest,
      api.GetWorkflowExecutionHistoryResponse,
      ({ execution }) => {
        const workflowId = execution?.workflowId ?? '';
        const type = typeOf(workflowId);
        if (type === undefined) return { history: { events: [startedEvent(standIn, known(execution))] } };
        const result = { payloads: [payload(standIn.ends[type])] };
        const workflowExecutionCompletedEventAttributes = { result };
        const event = {
          eventId: 2,
          eventType: ExecutionCompleted,
          workflowExecutionCompletedEventAttributes,
        };
        return { history: { events: [event] } };
      },
    ),
    CountWorkflowExecutions: handler(
      api.CountWorkflowExecutionsRequest,
      api.CountWorkflowExecutionsResponse,
      ({ query }) => {
        demandText(query);
        return { count: 0 };
      },
    ),
    DescribeTaskQueue: handler(api.DescribeTaskQueueRequest, api.DescribeTaskQueueResponse, () => ({})),
    ListWorkflowExecutions: handler(
      api.ListWorkflowExecutionsRequest,
      api.ListWorkflowExecutionsResponse,
      ({ query }) => {
        demandText(query);
        const [, app, orderId] = /PayoutApp = '([^']*)' AND PayoutOrderId = '([^']*)'/.exec(query) ?? [];
        const workflowId = `payout:${app}:${orderId}`;
        const execution = {
          execution: { workflowId, runId: RUN },
          type: { name: 'payout' },
          status: Running,
        };
        return { executions: exists(workflowId) ? [{ ...execution, startTime: { seconds: 1 } }] : [] };
      },
    ),
  };
}

const RUN = '01234567-89ab-cdef-0123-456789abcdef';
/** The starter of existing workflows. */
export const STARTER = 'starter';

const BY_CALLERS = /^(payout|payout-batch|receiving-account):/;

/** `payout-quote:app:…` was started for `payoutQuote`. */
function typed(workflowId: string, type: string): boolean {
  const kind = type.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return workflowId.startsWith(`${kind}:`) || workflowId.startsWith(`${kind.replace(/-query$/, '')}:`);
}

function startedEvent(standIn: StandIn, workflowId: string): object {
  const input = { payloads: [payload(standIn.argumentOf(workflowId))] };
  const memo = { fields: { startedBy: payload(STARTER) } };
  return {
    eventId: 1,
    eventType: ExecutionStarted,
    workflowExecutionStartedEventAttributes: { input, memo, firstExecutionRunId: RUN },
  };
}

function known(execution: { workflowId?: string | null } | null | undefined): string {
  const workflowId = execution?.workflowId ?? '';
  demandText(workflowId);
  if (!exists(workflowId) && !startedHere(workflowId)) throw notFound(workflowId);
  return workflowId;
}

function startedHere(workflowId: string): Done['starts'][number] | undefined {
  return done.getStore()?.starts.find((start) => start.workflowId === workflowId);
}

/** A Temporal server rejects strings that are not valid UTF-8 with an internal error. */
function demandText(text: string): void {
  if (/\p{Cs}/u.test(text)) throw grpcError('INTERNAL', 'string field contains invalid UTF-8');
}

function payload(value: unknown): proto.temporal.api.common.v1.IPayload {
  return defaultPayloadConverter.toPayload(value);
}

function argumentIn(input: Payloads): unknown {
  const [first] = input?.payloads ?? [];
  return first ? defaultPayloadConverter.fromPayload(first) : undefined;
}
