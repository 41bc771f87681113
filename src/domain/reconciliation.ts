/** The report of a reconciliation, the delay before a stopped payout is started again, and the daily report. */

import type { WorkflowAttentionCode } from '../contract/attention-codes.ts';
import { OUTCOMES } from '../contract/codes.ts';
import { totalsByCurrency } from '../contract/money.ts';
import type { PayoutResult } from '../contract/payout.ts';
import type { AppReport, ReportPart } from '../contract/reconciliation.ts';
import { DAY_MS, dayOf, HOUR_MS, isoTime } from './time.ts';

/** A closed workflow that the next reconciliation looks at again. */
export interface Unresolved {
  workflowId: string;
  /** Why it needs an operator: it isn't started again, or a new start wouldn't help. Absent if it only waits. */
  reason?: string;
}

export type NotReconciled = Required<Unresolved>;

export interface ReconciliationReport {
  /** Stopped payouts that were started again. */
  restarted: number;
  /** Stopped payouts whose restart is delayed because they keep being stopped. */
  waiting: number;
  /** Follow-ups started. */
  followUpsStarted: number;
  /** At most the first hundred. */
  notReconciled: NotReconciled[];
  /** Open workflows whose workflow task keeps failing: at most the first hundred. */
  failing: FailingWorkflow[];
  /** The next search covers workflows that started before this time. Unix milliseconds; undefined: from the newest on. */
  failingBeforeMs?: number | undefined;
  /** Every workflow that closed before this time, and that lists showed then, has been processed. Unix milliseconds. */
  seenUntilMs: number;
  /** The ids of processed workflows that wait or weren't reconciled. At most `MAX_UNRESOLVED`. */
  unresolved: string[];
  /** The sweep has processed every workflow that closed before this time. Unix milliseconds; 0: it begins. */
  sweptUntilMs: number;
}

/** A bound for the size of the report. The sweep finds the others again. */
export const MAX_UNRESOLVED = 1_000;

/** After this many stops in a row, a restart is delayed. */
const STOPS_WITHOUT_DELAY = 3;
const MAX_RESTART_DELAY_MS = 6 * HOUR_MS;

/** The delay before the restart after the `stops`-th stop: none at first, then exponential up to six hours. */
export function restartDelayMs(stops: number, everyMs: number): number {
  if (stops <= STOPS_WITHOUT_DELAY) return 0;
  return Math.min(MAX_RESTART_DELAY_MS, everyMs * 2 ** Math.min(stops - STOPS_WITHOUT_DELAY, 30));
}

/** The attention code in `list --attention` and in the reconciliation. */
export const WORKFLOW_TASK_FAILS = 'WORKFLOW_TASK_FAILS' satisfies WorkflowAttentionCode;

/** From this attempt on, Temporal rejects queries of the workflow. The crash of a worker costs one attempt. */
export const FAILING_FROM_ATTEMPT = 3;

/** An open workflow that is stuck: its workflow task keeps failing or timing out. */
export interface FailingWorkflow {
  workflowId: string;
  runId: string;
  type: string;
  /** The current attempt of its workflow task. */
  attempt: number;
  /** When this task was first scheduled. Unix milliseconds. */
  sinceMs: number;
  /** Temporal's name for the cause, such as `NON_DETERMINISTIC_ERROR`; `UNKNOWN` if the history doesn't contain it. */
  cause: string;
}

/** For operators. It contains no payload data. */
export function describeFailingWorkflow({ attempt, sinceMs, cause }: FailingWorkflow): string {
  return `its workflow task has failed ${attempt - 1} times since ${isoTime(sinceMs)} (${cause}): the workflow is stuck`;
}

const MAX_CHANGES = 1_000;

/** Bytes of JSON, which is ASCII here: together, far below the 2 MiB of a payload and of a history event. */
const MAX_APPS_BYTES = 600_000;
const MAX_CHANGES_BYTES = 400_000;

export function emptyReportPart(): ReportPart {
  return { apps: [], changes: [], totalChanges: 0 };
}

export function emptyAppReport(app: string): AppReport {
  return {
    app,
    outcomes: { SUCCESS: 0, PARTIAL_SUCCESS: 0, FAILED: 0, NOT_CREATED: 0 },
    endedFlagged: 0,
    unreadable: 0,
    received: [],
    failed: [],
    returned: [],
    changed: 0,
    notChecked: 0,
    open: { underAnHour: 0, underADay: 0, underAWeek: 0, older: 0, needingAttention: 0 },
  };
}

/** The sums of an application are complete or missing: once it is left out of a part, it is left out of every sum. */
export function mergeReportParts(parts: readonly ReportPart[]): ReportPart {
  const byName = new Map<string, AppReport>();
  for (const one of parts.flatMap(({ apps }) => apps))
    byName.set(one.app, addAppReport(byName.get(one.app) ?? emptyAppReport(one.app), one));
  const merged = [...byName.keys()].sort().flatMap((name) => byName.get(name) ?? []);
  const tooLarge = merged.slice(fitting(merged, MAX_APPS_BYTES).length).map(({ app }) => app);
  const [firstMissing] = [...parts.flatMap((part) => part.appsMissingFrom ?? []), ...tooLarge].sort();
  const changes = parts.flatMap((part) => part.changes).slice(0, MAX_CHANGES);
  return {
    apps: firstMissing === undefined ? merged : merged.filter(({ app }) => app < firstMissing),
    changes: fitting(changes, MAX_CHANGES_BYTES),
    totalChanges: parts.reduce((sum, { totalChanges }) => sum + totalChanges, 0),
    ...(firstMissing !== undefined && { appsMissingFrom: firstMissing }),
  };
}

/** The first ones that fit. */
function fitting<T>(all: readonly T[], maxBytes: number): T[] {
  let bytes = 0;
  const end = all.findIndex((one) => {
    bytes += JSON.stringify(one).length + 1;
    return bytes > maxBytes;
  });
  return all.slice(0, end < 0 ? all.length : end);
}

/** Adds `one` to `sum`. */
function addAppReport(sum: AppReport, one: AppReport): AppReport {
  for (const outcome of OUTCOMES) sum.outcomes[outcome] += one.outcomes[outcome];
  for (const count of ['endedFlagged', 'unreadable', 'changed', 'notChecked'] as const)
    sum[count] += one[count];
  for (const sums of ['received', 'failed', 'returned'] as const)
    sum[sums] = totalsByCurrency([...sum[sums], ...one[sums]]);
  for (const age of ['underAnHour', 'underADay', 'underAWeek', 'older', 'needingAttention'] as const)
    sum.open[age] += one.open[age];
  return sum;
}

type Moved = Pick<AppReport, 'received' | 'failed' | 'returned'>;

/** The money that a finished payout moved. Unlike the provider, it doesn't count a returned split as received. */
export function movedMoney(result: Pick<PayoutResult, 'received' | 'failed' | 'splits'>): Moved {
  const { received, failed, splits } = result;
  const succeeded = splits.filter(({ status }) => status === 'SUCCESS');
  const sum = (returned: boolean) =>
    totalsByCurrency(succeeded.filter(({ refunded }) => refunded === returned).map(({ target }) => target));
  return {
    received: splits.length > 0 ? sum(false) : received ? [received] : [],
    failed: failed ? [failed] : [],
    returned: sum(true),
  };
}

export function ageGroup(ageMs: number): 'underAnHour' | 'underADay' | 'underAWeek' | 'older' {
  if (ageMs < HOUR_MS) return 'underAnHour';
  if (ageMs < DAY_MS) return 'underADay';
  return ageMs < 7 * DAY_MS ? 'underAWeek' : 'older';
}

/** The first and last millisecond of a day, and the next day (ISO 8601); undefined if `day` isn't a date. */
export function dayBounds(day: string): { from: string; until: string; next: string } | undefined {
  const fromMs = Date.parse(`${day}T00:00:00.000Z`);
  if (Number.isNaN(fromMs) || dayOf(fromMs) !== day) return undefined;
  return { from: isoTime(fromMs), until: isoTime(fromMs + DAY_MS - 1), next: isoTime(fromMs + DAY_MS) };
}
