/** The payouts of one day by outcome and difference, and how parts of it are added up. Decisions only, no I/O. */
import { type Money, totalsByCurrency } from './money.ts';
import { OUTCOMES, type PayoutOutcome, type PayoutResult } from './payout.ts';

export interface AppReport {
  app: string;
  /** Payouts that ended on that day. */
  outcomes: Record<PayoutOutcome, number>;
  /** Of those, the ones that were still flagged when they ended. */
  endedFlagged: number;
  /** Of those, the ones whose result could not be read here; the sums lack them. */
  unreadable: number;
  /** What their receivers got and kept, and what failed on the way, by currency. */
  received: Money[];
  failed: Money[];
  /** What had come back when a payout ended on that day, and what follow-ups saw on that day to have come back since. */
  returned: Money[];
  /** Payouts of which a follow-up found on that day that something is not as reported. */
  changed: number;
  /** Payouts that a follow-up could not check from that day on, and has not checked since. */
  notChecked: number;
  open: OpenPayoutsByAge;
}

/** When the report was made, by when the workflow was started. */
export interface OpenPayoutsByAge {
  underAnHour: number;
  underADay: number;
  underAWeek: number;
  older: number;
  /** Of all of them, the ones that wait for a person. */
  needingAttention: number;
}

/** A payout of which a follow-up found that something is not as reported. */
export interface ChangedPayout {
  app: string;
  partnerOrderId: string;
  returned: Money[];
  /** Codes. */
  differences: string[];
}

export interface ReportPart {
  apps: AppReport[];
  changes: ChangedPayout[];
}

export interface DailyReport extends ReportPart {
  environment: string;
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  /** ISO 8601. */
  madeAt: string;
  /** How many of `changes` there are in all; at most a thousand are listed. */
  changesInAll: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const MAX_CHANGES = 1_000;

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

export function mergeReportParts(parts: readonly ReportPart[]): ReportPart {
  const all = parts.flatMap(({ apps }) => apps);
  const names = [...new Set(all.map(({ app }) => app))].sort();
  return {
    apps: names.map((name) => all.filter(({ app }) => app === name).reduce(mergeAppReports)),
    changes: parts.flatMap(({ changes }) => changes),
  };
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

/** What an ended payout moved. A payment that came back was not received, although the provider counts it so. */
export function movedMoney({
  received,
  failed,
  splits,
}: Pick<PayoutResult, 'received' | 'failed' | 'splits'>): Pick<
  AppReport,
  'received' | 'failed' | 'returned'
> {
  const succeeded = splits.filter(({ status }) => status === 'SUCCESS');
  const sum = (back: boolean) =>
    totalsByCurrency(succeeded.filter(({ refunded }) => refunded === back).map(({ target }) => target));
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

/** The day before the one of `nowMs`, UTC. */
export function dayBefore(nowMs: number): string {
  return new Date(nowMs - DAY_MS).toISOString().slice(0, 10);
}

/** First and last moment of a day, ISO 8601; undefined where there is no such day. */
export function dayBounds(day: string): { from: string; until: string } | undefined {
  const fromMs = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00.000Z`) : Number.NaN;
  if (Number.isNaN(fromMs) || new Date(fromMs).toISOString().slice(0, 10) !== day) return undefined;
  return { from: new Date(fromMs).toISOString(), until: new Date(fromMs + DAY_MS - 1).toISOString() };
}
