/**
 * Reconciliation, started by a Temporal Schedule: finds payouts whose workflow was terminated, timed out or failed and
 * starts them again, starts the follow-ups of ended payouts, and reports open workflows of any type whose tasks fail.
 *
 * Each run goes on from the time up to which the last one has seen what closed. What it cannot settle is kept by its id, so
 * that this time always advances. A slow sweep over everything that Temporal retains finds what lists showed too late.
 */
import { ApplicationFailure, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { ClosedBetween, LookAtClosed } from '../../activities/reconciliation/reconcile-activities.ts';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failures.ts';
import {
  describeFailingWorkflow,
  MAX_UNRESOLVED,
  type NotReconciled,
  type ReconciliationReport,
  type Unresolved,
  WORKFLOW_TASK_FAILS,
} from '../../domain/reconciliation.ts';
import { HOUR_MS } from '../../domain/time.ts';
import type { FailingSearch } from '../../temporal/failing-workflows.ts';
import { flagLines, showAttention } from '../shared/attention.ts';
import { temporalCalls } from '../shared/calls.ts';
import { isRecord } from '../shared/messages.ts';

/**
 * Lists are read again for the last minute that an earlier run has seen, because visibility lags, and for the last hour for
 * what was stopped. The sweep finds what they show later.
 */
const OVERLAP_MS = 60_000;
const STOPPED_OVERLAP_MS = HOUR_MS;
/** Then the next run continues, so that what this one has done is not done again if it is terminated. */
const MAX_RUN_MS = 10 * 60_000;
/** Sets the cost of the sweep: it lists at most 40,000 workflows per run. */
const SWEEP_CALLS = 8;
const IDS_PER_CALL = 100;
const MAX_LISTED = 100;

export async function payoutReconciliation(request?: {
  environment?: string;
}): Promise<ReconciliationReport> {
  const { environment } = request ?? {};
  if (typeof environment !== 'string')
    throw ApplicationFailure.nonRetryable('environment: is missing', INVALID_PAYOUT_REQUEST);
  const beganMs = Date.now();
  const last = lastReport(beganMs);
  const found = await temporalCalls.findFailing({
    environment,
    known: last.failingIds,
    beforeMs: last.failingBeforeMs,
  });
  const run = new Run(environment, found);
  for (let at = 0; at < last.unresolved.length; at += IDS_PER_CALL)
    await run.look({ workflowIds: last.unresolved.slice(at, at + IDS_PER_CALL) });
  const { seenUntilMs } = last;
  const knownUntilMs = Math.max(0, seenUntilMs - OVERLAP_MS);
  const stopped = { fromMs: Math.max(0, seenUntilMs - STOPPED_OVERLAP_MS), untilMs: knownUntilMs };
  await run.walk({ ...stopped, onlyStopped: true });
  run.report.seenUntilMs = await run.walk({ fromMs: knownUntilMs, untilMs: beganMs });
  const sweptUntilMs = await run.walk({ fromMs: last.sweptUntilMs, untilMs: knownUntilMs }, SWEEP_CALLS);
  // At its end, the sweep begins again.
  run.report.sweptUntilMs = sweptUntilMs < knownUntilMs ? sweptUntilMs : 0;
  show(run.report);
  return run.report;
}

class Run {
  readonly report: ReconciliationReport;
  private readonly environment: string;
  private readonly endMs = Date.now() + MAX_RUN_MS;
  private readonly unresolved = new Map<string, Unresolved>();

  constructor(environment: string, { failing, nextBeforeMs }: FailingSearch) {
    this.environment = environment;
    this.report = {
      restarted: 0,
      waiting: 0,
      followUpsStarted: 0,
      notReconciled: [],
      unresolved: [],
      failing,
      failingBeforeMs: nextBeforeMs,
      seenUntilMs: 0,
      sweptUntilMs: 0,
    };
  }

  /** Returns how far it came: to the end, unless there is too much for this run. It always advances. */
  async walk(time: ClosedBetween, maxCalls = Number.POSITIVE_INFINITY): Promise<number> {
    let { fromMs } = time;
    let stepMs = Number.POSITIVE_INFINITY;
    for (let calls = 0; fromMs < time.untilMs && calls < maxCalls; calls += 1) {
      if (calls > 0 && Date.now() > this.endMs) break;
      const untilMs = Math.min(time.untilMs, fromMs + stepMs);
      const doneMs = await this.look({ ...time, fromMs, untilMs });
      stepMs = 2 * (doneMs - fromMs);
      fromMs = doneMs;
    }
    return fromMs;
  }

  async look(which: LookAtClosed['which']): Promise<number> {
    const { environment, report, unresolved } = this;
    const room = MAX_UNRESOLVED - unresolved.size;
    const found = await temporalCalls.reconcileClosed({ environment, which, nowMs: Date.now(), room });
    for (const one of found.unresolved) unresolved.set(one.workflowId, one);
    report.restarted += found.restarted;
    report.followUpsStarted += found.followUpsStarted;
    report.unresolved = [...unresolved.keys()];
    const isForPerson = (one: Unresolved): one is NotReconciled => one.reason !== undefined;
    const notReconciled = [...unresolved.values()].filter(isForPerson);
    report.waiting = unresolved.size - notReconciled.length;
    report.notReconciled = notReconciled.slice(0, MAX_LISTED);
    return found.untilMs;
  }
}

/** What this run needs from the result of the schedule's last run. */
function lastReport(nowMs: number) {
  const last = workflowInfo().lastResult;
  const { seenUntilMs, sweptUntilMs, unresolved, failing, failingBeforeMs } = isRecord(last) ? last : {};
  return {
    // Without a last run, the sweep finds everything before.
    seenUntilMs: typeof seenUntilMs === 'number' ? seenUntilMs : nowMs,
    sweptUntilMs: typeof sweptUntilMs === 'number' ? sweptUntilMs : 0,
    unresolved: (Array.isArray(unresolved) ? unresolved : []).flatMap((id: unknown) =>
      typeof id === 'string' ? [id] : [],
    ),
    failingIds: (Array.isArray(failing) ? failing : []).flatMap((one: unknown) =>
      isRecord(one) && typeof one['workflowId'] === 'string' ? [one['workflowId']] : [],
    ),
    failingBeforeMs: typeof failingBeforeMs === 'number' ? failingBeforeMs : undefined,
  };
}

function show({ restarted, waiting, followUpsStarted, notReconciled, failing }: ReconciliationReport): void {
  const flags = [
    ...notReconciled.map(({ workflowId, reason }) => ({
      code: 'NOT_RECONCILED',
      message: `${workflowId} ${reason}`,
    })),
    ...failing.map((one) => ({
      code: WORKFLOW_TASK_FAILS,
      message: `${one.workflowId}: ${describeFailingWorkflow(one)}`,
    })),
  ];
  const sums = `${restarted} stopped payouts started again, ${waiting} waiting for their turn, ${followUpsStarted} follow-ups started`;
  setCurrentDetails([sums, ...flagLines(flags)].join('\n\n'));
  showAttention(flags);
}
