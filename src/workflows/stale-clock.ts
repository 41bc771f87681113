/**
 * Refuses to run a workflow on the clock of an earlier workflow task (H52).
 *
 * The SDK moves a workflow's clock at a WorkflowTaskStarted event only. A query is not a workflow task, so the history
 * that comes with it may end in events that no workflow task has started for: a timer that fired, a signal, a result.
 * The SDK applies those events all the same, on the clock of the task before. Whatever the workflow then decides by its
 * clock goes out with the next workflow task, and a later replay, which has the right clock, decides otherwise.
 *
 * Instead, such an activation fails here. Then the query fails, the worker drops the workflow from its memory, and the
 * next workflow task runs it from its history. `src/temporal/queries.ts` sends the query again.
 * See docs/decisions/0021-no-work-on-a-stale-clock.md.
 */
import {
  type ActivateInput,
  ApplicationFailure,
  type Next,
  type WorkflowInterceptorsFactory,
  type WorkflowInternalsInterceptor,
} from '@temporalio/workflow';
import { STALE_WORKFLOW_CLOCK } from '../domain/failure-types.ts';

type Activation = ActivateInput['activation'];
type Job = NonNullable<Activation['jobs']>[number];

/** What tells whether a workflow task has started since the previous activation. */
interface Reading {
  seconds: number;
  nanos: number;
  /** Of the history as the last workflow task started; grows from one task to the next. Zero on old servers. */
  historyBytes: number;
  /** How many events the SDK has applied. */
  events: number;
}

/** One for each workflow: the module is shared by all workflows of a worker and keeps nothing. */
class ClockGuard implements WorkflowInternalsInterceptor {
  private last: Reading | undefined;

  activate(input: ActivateInput, next: Next<WorkflowInternalsInterceptor, 'activate'>): void {
    const reading = readingOf(input.activation);
    // The SDK may hand over one activation in several batches.
    if (input.batchIndex === 0 && this.last && isStale(input.activation, reading, this.last))
      throw ApplicationFailure.nonRetryable(
        `${STALE_WORKFLOW_CLOCK}: events have arrived whose workflow task has not started yet; ask again`,
        STALE_WORKFLOW_CLOCK,
      );
    this.last = reading;
    next(input);
  }
}

export const interceptors: WorkflowInterceptorsFactory = () => ({ internals: [new ClockGuard()] });

function readingOf({ timestamp, historySizeBytes, historyLength }: Activation): Reading {
  return {
    seconds: Number(timestamp?.seconds ?? 0),
    nanos: timestamp?.nanos ?? 0,
    historyBytes: Number(historySizeBytes ?? 0),
    events: historyLength ?? 0,
  };
}

/**
 * The clock alone would not do: it also stands still where the server's own clock was set back, or after a local
 * activity. The size of the history tells those tasks from none.
 */
function isStale({ jobs }: Activation, now: Reading, last: Reading): boolean {
  const clockMoved = now.seconds > last.seconds || (now.seconds === last.seconds && now.nanos > last.nanos);
  if (clockMoved || now.historyBytes !== last.historyBytes) return false;
  const hasNewEvents = now.events > last.events;
  return (jobs ?? []).some((job) => isNews(job) || (hasNewEvents && isResult(job)));
}

/** Always a history event of its own. */
function isNews({ fireTimer, signalWorkflow, cancelWorkflow, doUpdate }: Job): boolean {
  return Boolean(fireTimer || signalWorkflow || cancelWorkflow || doUpdate);
}

/** Without a new history event, the SDK's own answer to a cancellation in the same workflow task. */
function isResult(job: Job): boolean {
  return Boolean(
    (job.resolveActivity && !job.resolveActivity.isLocal) ||
      job.resolveChildWorkflowExecutionStart ||
      job.resolveChildWorkflowExecution ||
      job.resolveSignalExternalWorkflow ||
      job.resolveRequestCancelExternalWorkflow ||
      job.resolveNexusOperationStart ||
      job.resolveNexusOperation,
  );
}
