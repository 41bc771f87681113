/** Spans of what a client tells Temporal. The workflow continues the trace by the header. */
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { Headers } from '@temporalio/common';
import { inSpan, isTracing } from './trace-context.ts';
import { withTrace } from './trace-header.ts';

interface Traced {
  readonly headers: Headers;
}

function told<Input extends Traced, Result>(
  name: string,
  workflowId: string,
  input: Input,
  next: (input: Input) => Promise<Result>,
): Promise<Result> {
  if (!isTracing()) return next(input);
  const attributes = { 'temporal.workflow.id': workflowId };
  return inSpan({ name, kind: 'client', attributes }, (context) =>
    next(context ? { ...input, headers: withTrace(input.headers, context) } : input),
  );
}

/** Without tracing, it changes nothing. Queries and descriptions have no span. */
export const clientSpans: WorkflowClientInterceptor = {
  startWithDetails: (input, next) =>
    told(`StartWorkflow:${input.workflowType}`, input.options.workflowId, input, next),
  signal: (input, next) =>
    told(`SignalWorkflow:${input.signalName}`, input.workflowExecution.workflowId ?? '', input, next),
  signalWithStart: (input, next) =>
    told(`SignalWithStartWorkflow:${input.signalName}`, input.options.workflowId, input, next),
  startUpdate: (input, next) =>
    told(`UpdateWorkflow:${input.updateName}`, input.workflowExecution.workflowId ?? '', input, next),
};
