/**
 * Refuses to run a workflow on the clock of an earlier workflow task (H52).
 *
 * The SDK moves a workflow's clock only at a WorkflowTaskStarted event. A query is not a workflow task, so the history
 * that comes with it may end in events for which no workflow task has started: a fired timer, a signal, a result.
 * The SDK applies those events anyway, on the clock of the previous task. What the workflow then decides by its clock
 * goes out with the next workflow task, and a later replay, on the correct clock, decides differently.
 *
 * This interceptor fails such an activation and its query instead. The worker evicts the workflow from its cache, the next
 * workflow task replays it from its history, and `src/temporal/queries.ts` sends the query again.
 *
 * A workflow task that started elsewhere and never completed also moves the clock, and a query runs its events. That
 * activation looks like a normal workflow task. But the query follows it immediately, in a worker that has just rebuilt
 * the workflow, or the clock is late by the time that Temporal waited for the task. The interceptor fails this query too.
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
import { STALE_WORKFLOW_CLOCK } from '../../contract/failures.ts';

type Activation = ActivateInput['activation'];
type Job = NonNullable<Activation['jobs']>[number];

/** The SDK's id for a query that comes without a workflow task. */
const LONE_QUERY = 'legacy_query';

/**
 * A query that runs events is answered some milliseconds later; a busy machine needs more. A longer time would reject
 * more queries of a workflow that is active after a replay.
 */
const AT_ONCE_MS = 100;

/** Shows whether a workflow task has started since the previous activation. */
interface Reading {
  startedMs: number;
  /** How far the workflow's clock is behind the worker's. It affects only queries, never what the workflow does. */
  lateMs: number;
  /** Size of the history when the last workflow task started. Grows with each task. Zero on old servers. */
  historyBytes: number;
  /** How many events the SDK has applied. */
  events: number;
  /** The activation belongs to a workflow task and not to a replay. */
  isLive: boolean;
}

/** One instance per workflow: all workflows of a worker share the module, so the module keeps no state. */
class ClockGuard implements WorkflowInternalsInterceptor {
  private last: Reading | undefined;
  /**
   * The first workflow task after a replay, until the next one confirms that it was this worker's own. `live`: the end of its
   * history, and the worker's time of its last activation. Undefined before the first replay: a lone query cannot come before
   * a workflow's first task has completed.
   */
  private first: { live?: { events: number; atMs: number }; isConfirmed?: boolean } | undefined;

  activate(input: ActivateInput, next: Next<WorkflowInternalsInterceptor, 'activate'>): void {
    const { activation, batchIndex } = input;
    const { last } = this;
    const reading = readingOf(activation);
    // The SDK may split one activation into several batches.
    if (
      batchIndex === 0 &&
      last &&
      (isStale(activation, reading, last) || this.mayHaveRunAhead(activation, last))
    )
      throw ApplicationFailure.nonRetryable(
        `${STALE_WORKFLOW_CLOCK}: events have arrived whose workflow task has not started yet; ask again`,
        STALE_WORKFLOW_CLOCK,
      );
    // A query is not a workflow task: the reading of the last task stays.
    const isQuery = activation.jobs?.some(({ queryWorkflow }) => queryWorkflow != null);
    this.last = isQuery && last ? { ...reading, lateMs: last.lateMs, isLive: last.isLive } : reading;
    if (!isQuery) this.noteTask(reading);
    next(input);
  }

  private noteTask({ events, isLive }: Reading): void {
    if (!isLive) this.first = {};
    else if (this.first?.live && this.first.live.events !== events) this.first.isConfirmed = true;
    else if (this.first) this.first.live = { events, atMs: workflowInfo().unsafe.now() };
  }

  /**
   * Whether a lone query follows an activation whose workflow task may belong to no worker. On a busy machine, or with
   * clocks that differ, this also fails harmless queries; when they are sent again, the workflow is replayed first.
   */
  private mayHaveRunAhead({ jobs }: Activation, { lateMs, isLive }: Reading): boolean {
    if (!isLive || !jobs?.some(({ queryWorkflow }) => queryWorkflow?.queryId === LONE_QUERY)) return false;
    if (Math.abs(lateMs) > workflowInfo().taskTimeoutMs / 2) return true;
    const { live, isConfirmed } = this.first ?? {};
    if (!live || isConfirmed) return false;
    return Math.abs(workflowInfo().unsafe.now() - live.atMs) < AT_ONCE_MS;
  }
}

export const interceptors: WorkflowInterceptorsFactory = () => ({ internals: [new ClockGuard()] });

function readingOf({ timestamp, historySizeBytes, historyLength, isReplaying }: Activation): Reading {
  const startedMs = Number(timestamp?.seconds ?? 0) * 1_000 + (timestamp?.nanos ?? 0) / 1_000_000;
  return {
    startedMs,
    lateMs: workflowInfo().unsafe.now() - startedMs,
    historyBytes: Number(historySizeBytes ?? 0),
    events: historyLength ?? 0,
    isLive: !isReplaying,
  };
}

/**
 * The clock alone does not tell: it also stands still when the server's clock was set back. Then the history has grown.
 */
function isStale({ jobs }: Activation, now: Reading, last: Reading): boolean {
  if (now.startedMs > last.startedMs || now.historyBytes !== last.historyBytes) return false;
  const hasNewEvents = now.events > last.events;
  return (jobs ?? []).some((job) => isNews(job) || (hasNewEvents && isResult(job)));
}

/** Jobs that always have their own history event. */
function isNews({ fireTimer, signalWorkflow, cancelWorkflow, doUpdate }: Job): boolean {
  return Boolean(fireTimer || signalWorkflow || cancelWorkflow || doUpdate);
}

/** Without a new history event, such a job is the SDK's own answer to a cancellation in the same workflow task. */
function isResult(job: Job): boolean {
  return Object.entries(job).some(([name, value]) => name.startsWith('resolve') && Boolean(value));
}
