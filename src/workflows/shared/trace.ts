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

export interface TraceSinks extends Sinks {
  payoutsTrace: {
    /** The span of a run, which began in the trace of `parent`. */
    runEnded(span: { parent: TraceParent; endMs: number }): void;
    /** A message that the workflow has received. `run`: the context of the run, if it has one. */
    messageReceived(span: { name: string; sender: TraceParent; run?: TraceParent | undefined }): void;
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

/** Once per workflow. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let start: TraceParent | undefined;
  let run: TraceParent | undefined;
  const within = <Input extends { headers: Headers }>(trace: TraceParent | undefined, input: Input): Input =>
    trace === undefined ? input : { ...input, headers: withTrace(input.headers, trace) };
  const received = (name: string, headers: Headers) => {
    const sender = traceIn(headers);
    if (sender !== undefined) payoutsTrace.messageReceived({ name, sender, run });
  };
  const inbound: WorkflowInboundCallsInterceptor = {
    execute(input, next) {
      const { workflowType, runId } = workflowInfo();
      const parent = OWN_TRACES.includes(workflowType) ? undefined : traceIn(input.headers);
      run = parent && runContext(parent, runId);
      if (parent === undefined || run === undefined) return next(input);
      start = parent;
      return next(input).finally(() => payoutsTrace.runEnded({ parent, endMs: Date.now() }));
    },
    handleSignal(input, next) {
      received(`HandleSignal:${input.signalName}`, input.headers);
      return next(input);
    },
    handleUpdate(input, next) {
      received(`HandleUpdate:${input.name}`, input.headers);
      return next(input);
    },
  };
  const outbound: WorkflowOutboundCallsInterceptor = {
    scheduleActivity: (input, next) => next(within(run, input)),
    startChildWorkflowExecution: (input, next) => next(within(run, input)),
    signalWorkflow: (input, next) => next(within(run, input)),
    /** The runs of a workflow stand side by side in the trace of its start. */
    continueAsNew: (input, next) => next(within(start, input)),
    getLogAttributes: (input, next) => next(run ? { ...input, traceId: traceIdOf(run) } : input),
  };
  return { inbound: [inbound], outbound: [outbound] };
};
