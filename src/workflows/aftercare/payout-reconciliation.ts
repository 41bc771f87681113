/**
 * Reconciliation, started by a Temporal Schedule: finds payouts whose workflow was terminated, timed out or failed and
 * starts them again, starts the follow-ups of ended payouts, and reports open workflows of any type whose tasks fail.
 * The next run finishes what one run does not.
 */
import { ApplicationFailure, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failure-types.ts';
import {
  describeFailingWorkflow,
  type ReconciliationReport,
  WORKFLOW_TASK_FAILS,
} from '../../domain/reconciliation.ts';
import { flagLines, showAttention } from '../shared/attention.ts';
import { temporalCalls } from '../shared/calls.ts';
import { isRecord } from '../shared/messages.ts';

/** Every payout that is started again calls the provider at once, so they are started in rounds with a pause between. */
const PAUSE_BETWEEN_ROUNDS = '30s';
const MAX_ROUNDS = 100;
const MAX_LISTED = 100;
/** Far longer than visibility may lag. */
const OVERLAP_MS = 3_600_000;

export async function payoutReconciliation(request?: {
  environment?: string;
}): Promise<ReconciliationReport> {
  const { environment } = request ?? {};
  if (typeof environment !== 'string')
    throw ApplicationFailure.nonRetryable('environment: is missing', INVALID_PAYOUT_REQUEST);
  const beganMs = Date.now();
  const last = lastReport();
  const { seenUntilMs } = last;
  const counts = { restarted: 0, waiting: 0, followUpsStarted: 0 };
  const report: ReconciliationReport = { ...counts, notReconciled: [], failing: [], seenUntilMs };
  const { failingIds: known, failingBeforeMs: beforeMs } = last;
  const found = await temporalCalls.findFailing({ environment, known, beforeMs });
  report.failing = found.failing;
  report.failingBeforeMs = found.nextBeforeMs;
  show(report);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (round > 0) await sleep(PAUSE_BETWEEN_ROUNDS);
    if (await runRound(environment, report)) {
      // The next run finds again what waits, and what was not reconciled, until a person has dealt with it.
      if (report.notReconciled.length + report.waiting === 0) report.seenUntilMs = beganMs;
      break;
    }
    show(report);
  }
  show(report);
  return report;
}

/** Returns whether nothing is left to start. */
async function runRound(environment: string, report: ReconciliationReport): Promise<boolean> {
  const closedAfterMs = Math.max(0, report.seenUntilMs - OVERLAP_MS);
  const look = { environment, closedAfterMs, nowMs: Date.now() };
  const restarted = await temporalCalls.restartStopped(look);
  const followUps = await temporalCalls.startFollowUps(look);
  report.restarted += restarted.restarted;
  report.followUpsStarted += followUps.started;
  report.waiting = restarted.waiting;
  report.notReconciled = [...restarted.notReconciled, ...followUps.notReconciled].slice(0, MAX_LISTED);
  return !restarted.more && !followUps.more;
}

/** What this run needs from the result of the schedule's last run. */
function lastReport() {
  const last = workflowInfo().lastResult;
  const { seenUntilMs, failing, failingBeforeMs } = isRecord(last) ? last : {};
  return {
    seenUntilMs: typeof seenUntilMs === 'number' ? seenUntilMs : 0,
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
