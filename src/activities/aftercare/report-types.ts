/** The activities of the daily report. Types only, so that workflows can import them. */
import type { ReportPart } from '../../domain/daily-report.ts';

export interface ReportPage {
  /** A worker of another environment refuses the page. */
  environment: string;
  day: string;
  /** The workflow's time, which is Temporal's clock. Unix milliseconds. */
  nowMs: number;
  /** The page token; undefined for the first page. */
  after?: string | undefined;
}

export interface ReportedPage extends ReportPart {
  /** Undefined after the last page. */
  next?: string;
}

/** They read only Temporal. */
export interface ReportActivities {
  /** Payouts that ended on the day. */
  reportEnded(page: ReportPage): Promise<ReportedPage>;
  /** Payouts that are open now. */
  reportOpen(page: ReportPage): Promise<ReportedPage>;
  /** What follow-ups found on the day. Always one page. */
  reportChanged(page: ReportPage): Promise<ReportedPage>;
}
