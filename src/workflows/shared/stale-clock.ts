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
 *
 * A workflow task that was started and never completed moves the clock, too. Such an activation looks like that of a
 * workflow task, but for its clock, which is late by the time that Temporal waited for the task. The query that it was
 * made for fails then.
 * See docs/decisions/0021-no-work-on-a-stale-clock.md.
 */
import {
  type ActivateInput,
  ApplicationFailure,
  type Next,
  type WorkflowInterceptorsFactory,
  type WorkflowInternalsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';
import { STALE_WORKFLOW_CLOCK } from '../../contract/failure-types.ts';

type Activation = ActivateInput['activation'];
type Job = NonNullable<Activation['jobs']>[number];

/** The SDK's name for a query that came without a workflow task. */
const LONE_QUERY = 'legacy_query';

/** What tells whether a workflow task has started since the previous activation. */
interface Reading {
  seconds: number;
  nanos: number;
  /** How far behind the worker's own clock. It decides about queries only, never about what the workflow does. */
  lateMs: number;
  /** Of the history as the last workflow task started; grows from one task to the next. Zero on old servers. */
  historyBytes: number;
  /** How many events the SDK has applied. */
  events: number;
  /** Outside of a replay, it was what a workflow task brings. */
  isLive: boolean;
}

/** One for each workflow: the module is shared by all workflows of a worker and keeps nothing. */
class ClockGuard implements WorkflowInternalsInterceptor {
  private last: Reading | undefined;

  activate(input: ActivateInput, next: Next<WorkflowInternalsInterceptor, 'activate'>): void {
    const { activation, batchIndex } = input;
    const { last } = this;
    const reading = readingOf(activation);
    // The SDK may hand over one activation in several batches.
    if (batchIndex === 0 && last && (isStale(activation, reading, last) || ranLate(activation, last)))
      throw ApplicationFailure.nonRetryable(
        `${STALE_WORKFLOW_CLOCK}: events have arrived whose workflow task has not started yet; ask again`,
        STALE_WORKFLOW_CLOCK,
      );
    // A query is no workflow task, and does not change what the one before it was.
    const isQuery = activation.jobs?.some(({ queryWorkflow }) => queryWorkflow != null);
    this.last = isQuery && last ? { ...reading, lateMs: last.lateMs, isLive: last.isLive } : reading;
    next(input);
  }
}

export const interceptors: WorkflowInterceptorsFactory = () => ({ internals: [new ClockGuard()] });

function readingOf({ timestamp, historySizeBytes, historyLength, isReplaying }: Activation): Reading {
  const seconds = Number(timestamp?.seconds ?? 0);
  const nanos = timestamp?.nanos ?? 0;
  return {
    ...{ seconds, nanos, lateMs: workflowInfo().unsafe.now() - (seconds * 1_000 + nanos / 1_000_000) },
    historyBytes: Number(historySizeBytes ?? 0),
    events: historyLength ?? 0,
    isLive: !isReplaying,
  };
}

/**
 * Whether a query comes on its own, after an activation whose clock was not that of a workflow task under way: Temporal
 * gives a task up after its timeout. On a busy machine, or where the clocks differ, this refuses queries for nothing;
 * sent again, they find a replay.
 */
function ranLate({ jobs }: Activation, { lateMs, isLive }: Reading): boolean {
  if (!isLive || !jobs?.some(({ queryWorkflow }) => queryWorkflow?.queryId === LONE_QUERY)) return false;
  return Math.abs(lateMs) > workflowInfo().taskTimeoutMs / 2;
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
