/**
 * Who may spend one application's call budget: whichever process runs the activity `holdBudget`, and nobody else. One
 * that dies is followed by the activity's next attempt, one that gives back by the next activity. Runs until it is
 * cancelled.
 */
import {
  ActivityCancellationType,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
} from '@temporalio/workflow';
import type { LeaseActivities } from '../activities/types.ts';
import { leaseTaskQueue } from '../domain/identity.ts';
import {
  type BudgetState,
  type CallsPerSecondChange,
  changeProblem,
  LEASE_TIMEOUT_MS,
  type LeasePlace,
  type LeaseRecord,
  TERM_TIMEOUT_MS,
} from '../domain/rate-limit-lease.ts';
import { budgetQuery, setCallsPerSecondUpdate } from './lease-messages.ts';
import { isHistoryLong } from './long-history.ts';

/** The next process may begin at once; what has to be waited for is the process's own business. */
const NEXT_ATTEMPT_AFTER_MS = 20;
const AFTER_A_FAILURE_MS = 1_000;

export async function rateLimitLease(place: LeasePlace, carried: LeaseRecord): Promise<void> {
  const record: LeaseRecord = { ...carried };
  let term = new CancellationScope();
  setHandler(budgetQuery, () => stateOf(record));
  setHandler(
    setCallsPerSecondUpdate,
    (change) => {
      apply(record, change);
      term.cancel();
      return stateOf(record);
    },
    { validator: refuseBadChange },
  );
  while (!CancellationScope.current().consideredCancelled) {
    term = new CancellationScope();
    setCurrentDetails(sentenceOf(record));
    await hold(place, record, term);
    await condition(allHandlersFinished);
    if (isHistoryLong()) await continueAsNew<typeof rateLimitLease>(place, record);
  }
}

/** One term. Keeps what the next one has to know. */
async function hold(place: LeasePlace, record: LeaseRecord, scope: CancellationScope): Promise<void> {
  const { before, callsPerSecond } = record;
  try {
    record.before = await scope.run(() => holder(place).holdBudget({ ...place, before, callsPerSecond }));
  } catch (error) {
    record.before = 'unknown';
    if (!isCancellation(error)) await sleep(AFTER_A_FAILURE_MS);
  }
}

function holder({ environment, app }: LeasePlace) {
  return proxyActivities<LeaseActivities>({
    taskQueue: leaseTaskQueue(environment, app),
    summary: `holds the call budget of ${app} in ${environment}`,
    startToCloseTimeout: TERM_TIMEOUT_MS,
    heartbeatTimeout: LEASE_TIMEOUT_MS,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: NEXT_ATTEMPT_AFTER_MS,
      maximumInterval: NEXT_ATTEMPT_AFTER_MS,
      backoffCoefficient: 1,
    },
  });
}

function refuseBadChange(change: CallsPerSecondChange): void {
  const problem = changeProblem(change);
  if (problem) throw ApplicationFailure.nonRetryable(problem, 'InvalidChange');
}

function apply(record: LeaseRecord, { callsPerSecond, by }: CallsPerSecondChange): void {
  record.callsPerSecond = callsPerSecond ?? undefined;
  record.changedBy = by;
}

function stateOf({ callsPerSecond, changedBy }: LeaseRecord): BudgetState {
  return { callsPerSecond: callsPerSecond ?? null, changedBy: changedBy ?? null };
}

function sentenceOf({ callsPerSecond, changedBy }: LeaseRecord): string {
  if (callsPerSecond === undefined) return "Calls a second: by the workers' configuration";
  return `Calls a second: ${callsPerSecond}, set by ${changedBy}`;
}
