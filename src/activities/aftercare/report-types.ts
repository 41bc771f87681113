/** What the daily report asks of its activities. Types only, so that workflows can import them. */
import type { ReportPart } from '../../domain/daily-report.ts';

export interface ReportPage {
  /** A worker of another environment refuses it. */
  environment: string;
  day: string;
  /** Where the page before this one ended; absent: the first. */
  after?: string | undefined;
}

export interface ReportedPage extends ReportPart {
  /** Absent after the last page. */
  next?: string;
}

/** Read Temporal, never the payments service. */
export interface ReportActivities {
  /** Payouts that ended on that day. */
  reportEnded(page: ReportPage): Promise<ReportedPage>;
  /** Payouts that are open now. */
  reportOpen(page: ReportPage): Promise<ReportedPage>;
  /** What follow-ups saw on that day; all at once, for there is little of it. */
  reportChanged(page: ReportPage): Promise<ReportedPage>;
}
