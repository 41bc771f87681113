/**
 * Nothing is forgotten: started by a Temporal Schedule, it finds payouts whose workflow was stopped and starts them
 * again, and starts the follow-up of those that have ended. It reports open workflows of every type that cannot go on.
 * What one run does not finish the next one does.
 */
import {
  ApplicationFailure,
  setCurrentDetails,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { INVALID_PAYOUT_REQUEST } from '../../contract/failure-types.ts';
import { describeFailingWorkflow, WORKFLOW_TASK_FAILS } from '../../domain/failing-workflow.ts';
import { MAX_RESTART_DELAY_MS, type ReconciliationReport } from '../../domain/reconciliation.ts';
import { isRecord } from '../shared/raw-signal.ts';
import { engineCalls } from './engine-calls.ts';

/** Between two slices, for every payout that is started again asks the service at once. */
const PAUSE_BETWEEN_SLICES = '30s';
const MOST_SLICES = 100;
const MOST_TOLD = 100;
/** Visibility is written this late at most, by far. */
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
  const report: ReconciliationReport = {
    adopted: 0,
    waiting: 0,
    followed: 0,
    leftAlone: [],
    failing: [],
    seenUntilMs,
  };
  await lookForFailing(environment, report, last);
  show(report);
  for (let slice = 0; slice < MOST_SLICES; slice += 1) {
    if (slice > 0) await sleep(PAUSE_BETWEEN_SLICES);
    if (await nothingIsLeft(environment, report)) {
      // What was left alone is looked at again until somebody has seen to it.
      if (report.leftAlone.length === 0) report.seenUntilMs = beganMs;
      break;
    }
    show(report);
  }
  show(report);
  return report;
}

async function nothingIsLeft(environment: string, report: ReconciliationReport): Promise<boolean> {
  const closedAfter = (overlapMs: number) => Math.max(0, report.seenUntilMs - overlapMs);
  // A payout that waits for its next turn was stopped up to the longest pause ago.
  const stopped = { environment, closedAfterMs: closedAfter(OVERLAP_MS + MAX_RESTART_DELAY_MS) };
  const adopted = await engineCalls.adoptStopped(stopped);
  const followed = await engineCalls.followEnded({ environment, closedAfterMs: closedAfter(OVERLAP_MS) });
  report.adopted += adopted.adopted;
  report.followed += followed.started;
  report.waiting = adopted.waiting;
  report.leftAlone = [...adopted.leftAlone, ...followed.leftAlone].slice(0, MOST_TOLD);
  return !adopted.more && !followed.more;
}

async function lookForFailing(
  environment: string,
  report: ReconciliationReport,
  { failingIds: known, failingBeforeMs: beforeMs }: ReturnType<typeof lastReport>,
): Promise<void> {
  const found = await engineCalls.findFailing({ environment, known, beforeMs });
  report.failing = found.failing;
  report.failingBeforeMs = found.nextBeforeMs;
}

/** What the last run of the schedule answered, as far as the next one needs it. */
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

function show({ adopted, waiting, followed, leftAlone, failing }: ReconciliationReport): void {
  const lines = [
    `${adopted} stopped payouts started again, ${waiting} waiting for their turn, ${followed} follow-ups started`,
    ...leftAlone.map(({ workflowId, why }) => `⚠ LEFT_ALONE: ${workflowId} ${why}`),
    ...failing.map((one) => `⚠ ${WORKFLOW_TASK_FAILS}: ${one.workflowId}: ${describeFailingWorkflow(one)}`),
  ];
  setCurrentDetails(lines.join('\n\n'));
  const known = workflowInfo().searchAttributes['PayoutNeedsAttention']?.[0] === true;
  if (leftAlone.length + failing.length > 0 && !known)
    upsertSearchAttributes({ PayoutNeedsAttention: [true] });
}
