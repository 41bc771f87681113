/**
 * Carries the trace of a start through its workflow: to activities, child workflows and signals, and to the next run.
 * Without a trace in the header of the start, nothing changes, so the commands do not depend on whether a worker traces.
 *
 * The id of a run's span is taken from its run id: a replay gives the same, and nothing random is drawn. The worker
 * writes the spans (`src/workers/telemetry.ts`) when it is told of them; without tracing, it ignores what it is told.
 */
import {
  type Headers,
  proxySinks,
  type Sinks,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptorsFactory,
  type WorkflowOutboundCallsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';
import { runContext, type TraceParent, traceIdOf, traceIn, withTrace } from '../../observability/trace.ts';

/** The span of a run, which began in the trace of `parent`. */
interface RunSpan {
  parent: TraceParent;
  endMs: number;
}

/** A message that the workflow has received. `run`: the context of the run, if it has one. */
interface MessageSpan {
  name: string;
  sender: TraceParent;
  run?: TraceParent | undefined;
}

export interface TraceSinks extends Sinks {
  payoutsTrace: {
    runEnded(span: RunSpan): void;
    messageReceived(span: MessageSpan): void;
  };
}

/**
 * These live on after the work that started them, or do the work of many, so their activities do not belong to the trace
 * of their start.
 */
const OWN_TRACES: readonly string[] = [
  'callerAllowance',
  'eventDelivery',
  'payoutBatchPart',
  'rateLimitLease',
  'tokenRenewal',
];

const { payoutsTrace } = proxySinks<TraceSinks>();

/** One instance per workflow. */
class TraceCarrier implements WorkflowInboundCallsInterceptor, WorkflowOutboundCallsInterceptor {
  private start: TraceParent | undefined;
  private run: TraceParent | undefined;

  readonly execute: NonNullable<WorkflowInboundCallsInterceptor['execute']> = (input, next) => {
    const { workflowType, runId } = workflowInfo();
    const start = OWN_TRACES.includes(workflowType) ? undefined : traceIn(input.headers);
    const run = start && runContext(start, runId);
    if (start === undefined || run === undefined) return next(input);
    this.start = start;
    this.run = run;
    return next(input).finally(() => payoutsTrace.runEnded({ parent: start, endMs: Date.now() }));
  };

  readonly handleSignal: NonNullable<WorkflowInboundCallsInterceptor['handleSignal']> = (input, next) => {
    this.received(`HandleSignal:${input.signalName}`, input.headers);
    return next(input);
  };

  readonly handleUpdate: NonNullable<WorkflowInboundCallsInterceptor['handleUpdate']> = (input, next) => {
    this.received(`HandleUpdate:${input.name}`, input.headers);
    return next(input);
  };

  readonly scheduleActivity: NonNullable<WorkflowOutboundCallsInterceptor['scheduleActivity']> = (
    input,
    next,
  ) => next(this.run === undefined ? input : { ...input, headers: withTrace(input.headers, this.run) });

  readonly startChildWorkflowExecution: NonNullable<
    WorkflowOutboundCallsInterceptor['startChildWorkflowExecution']
  > = (input, next) =>
    next(this.run === undefined ? input : { ...input, headers: withTrace(input.headers, this.run) });

  readonly signalWorkflow: NonNullable<WorkflowOutboundCallsInterceptor['signalWorkflow']> = (input, next) =>
    next(this.run === undefined ? input : { ...input, headers: withTrace(input.headers, this.run) });

  /** The runs of a workflow stand side by side in the trace of its start. */
  readonly continueAsNew: NonNullable<WorkflowOutboundCallsInterceptor['continueAsNew']> = (input, next) =>
    next(this.start === undefined ? input : { ...input, headers: withTrace(input.headers, this.start) });

  readonly getLogAttributes: NonNullable<WorkflowOutboundCallsInterceptor['getLogAttributes']> = (
    input,
    next,
  ) => next(this.run === undefined ? input : { ...input, traceId: traceIdOf(this.run) });

  private received(name: string, headers: Headers): void {
    const sender = traceIn(headers);
    if (sender !== undefined) payoutsTrace.messageReceived({ name, sender, run: this.run });
  }
}

export const interceptors: WorkflowInterceptorsFactory = () => {
  const carrier = new TraceCarrier();
  return { inbound: [carrier], outbound: [carrier] };
};
