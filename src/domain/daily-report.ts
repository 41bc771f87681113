/** The daily report: the payouts of one day by outcome and by change since their end. No I/O. */
import { type Money, totalsByCurrency } from './money.ts';
import { OUTCOMES, type PayoutOutcome, type PayoutResult } from './payout.ts';
import { DAY_MS, HOUR_MS, isoTime } from './time.ts';

export interface AppReport {
  app: string;
  /** Payouts that ended on that day. */
  outcomes: Record<PayoutOutcome, number>;
  /** Payouts that ended on that day with an attention flag. */
  endedFlagged: number;
  /** Payouts that ended on that day and whose result could not be read. The sums do not include them. */
  unreadable: number;
  /** Sums of the splits that succeeded and were not returned, and of those that failed, one per currency. */
  received: Money[];
  failed: Money[];
  /**
   * Money returned before a payout ended on that day, and returns that a follow-up found on that day. One sum per
   * currency.
   */
  returned: Money[];
  /** Payouts for which a follow-up found on that day that the provider's answer differs from the reported result. */
  changed: number;
  /** Payouts whose follow-up checks have failed since that day. */
  notChecked: number;
  open: OpenPayoutsByAge;
}

/** Open payouts when the report was made, by the age of their workflow. */
interface OpenPayoutsByAge {
  underAnHour: number;
  underADay: number;
  underAWeek: number;
  older: number;
  /** Open payouts that wait for a person. */
  needingAttention: number;
}

/** A payout for which a follow-up found that the provider's answer differs from the reported result. */
export interface ChangedPayout {
  app: string;
  partnerOrderId: string;
  returned: Money[];
  /** Attention codes. */
  differences: string[];
}

export interface ReportPart {
  apps: AppReport[];
  changes: ChangedPayout[];
  /** The total number of changes. `changes` lists at most 1,000 of them. */
  totalChanges: number;
  /** The report would be too large: applications with this name, and those whose names sort after it, are missing. */
  appsMissingFrom?: string;
}

export interface DailyReport extends ReportPart {
  environment: string;
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  /** ISO 8601. */
  generatedAt: string;
}

const MAX_CHANGES = 1_000;
/**
 * Of JSON, which is ASCII here. Together, they are far below the 2 MiB of a payload, and of what Temporal puts into one
 * history event.
 */
const MAX_APPS_BYTES = 600_000;
const MAX_CHANGES_BYTES = 400_000;

export function emptyReportPart(): ReportPart {
  return { apps: [], changes: [], totalChanges: 0 };
}

export function emptyAppReport(app: string): AppReport {
  const [SUCCESS, PARTIAL_SUCCESS, FAILED, NOT_CREATED] = [0, 0, 0, 0];
  return {
    app,
    outcomes: { SUCCESS, PARTIAL_SUCCESS, FAILED, NOT_CREATED },
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
  for (const one of parts.flatMap(({ apps }) => apps)) {
    const sum = byName.get(one.app);
    byName.set(one.app, sum ? mergeAppReports(sum, one) : one);
  }
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

/** As many of the first ones as fit. */
function fitting<T>(all: readonly T[], maxBytes: number): T[] {
  let bytes = 0;
  const end = all.findIndex((one) => {
    bytes += JSON.stringify(one).length + 1;
    return bytes > maxBytes;
  });
  return all.slice(0, end < 0 ? all.length : end);
}

function mergeAppReports(one: AppReport, other: AppReport): AppReport {
  const outcomes = { ...one.outcomes };
  for (const outcome of OUTCOMES) outcomes[outcome] += other.outcomes[outcome];
  return {
    app: one.app,
    outcomes,
    endedFlagged: one.endedFlagged + other.endedFlagged,
    unreadable: one.unreadable + other.unreadable,
    received: totalsByCurrency([...one.received, ...other.received]),
    failed: totalsByCurrency([...one.failed, ...other.failed]),
    returned: totalsByCurrency([...one.returned, ...other.returned]),
    changed: one.changed + other.changed,
    notChecked: one.notChecked + other.notChecked,
    open: {
      underAnHour: one.open.underAnHour + other.open.underAnHour,
      underADay: one.open.underADay + other.open.underADay,
      underAWeek: one.open.underAWeek + other.open.underAWeek,
      older: one.open.older + other.open.older,
      needingAttention: one.open.needingAttention + other.open.needingAttention,
    },
  };
}

/**
 * The money that an ended payout moved. A returned split does not count as received, although the provider counts it.
 */
export function movedMoney({
  received,
  failed,
  splits,
}: Pick<PayoutResult, 'received' | 'failed' | 'splits'>): Pick<
  AppReport,
  'received' | 'failed' | 'returned'
> {
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

/** The day before `nowMs`, in UTC. */
export function dayBefore(nowMs: number): string {
  return isoTime(nowMs - DAY_MS).slice(0, 10);
}

/** The first and last millisecond of a day (ISO 8601), or undefined if `day` is not a date. */
export function dayBounds(day: string): { from: string; until: string } | undefined {
  const fromMs = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00.000Z`) : Number.NaN;
  if (Number.isNaN(fromMs) || new Date(fromMs).toISOString().slice(0, 10) !== day) return undefined;
  return { from: new Date(fromMs).toISOString(), until: new Date(fromMs + DAY_MS - 1).toISOString() };
}
