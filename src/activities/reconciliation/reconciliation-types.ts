/** The activities of the reconciliation and of the daily report. Types only, so that workflows can import them. */
import type { FollowUpRequest, ReportPart } from '../../contract/reconciliation.ts';
import type { Unresolved } from '../../domain/reconciliation.ts';
import type { FailingSearch } from '../../temporal/failing-workflows.ts';

/** A time in which workflows closed: from `fromMs` on, before `untilMs`. Unix milliseconds. */
export interface ClosedBetween {
  fromMs: number;
  untilMs: number;
  /** Only those that were stopped. They are few. */
  onlyStopped?: true;
}

export interface LookAtClosed {
  environment: string;
  which: ClosedBetween | { workflowIds: string[] };
  /** The workflow's time, which is Temporal's clock. Unix milliseconds. */
  nowMs: number;
  /** At most so many unresolved workflows are returned. */
  room: number;
}

export interface LookedAtClosed {
  restarted: number;
  followUpsStarted: number;
  unresolved: Unresolved[];
  /** The call processed everything that closed before this time: at least a part of the time that it was given. */
  untilMs: number;
}

export interface EndedWhich {
  environment: string;
  app: string;
  partnerOrderId: string;
}

export type PayoutEnd =
  | { kind: 'ended'; ended: FollowUpRequest }
  /** A Workflow Reset has opened the payout again. */
  | { kind: 'open' }
  /** The payout's workflow was stopped, deleted or cannot be read. */
  | { kind: 'unknown' };

export interface LookForFailing {
  environment: string;
  /** The ids of failing workflows that were found before. */
  known: string[];
  /** Where the last search stopped. Unix milliseconds. */
  beforeMs?: number | undefined;
}

/** They call only Temporal, and are idempotent. */
export interface ReconcileActivities {
  /**
   * Restarts payouts whose workflow was terminated, timed out or failed, starts the missing follow-up of each payout that
   * has ended after a create was sent, restarts stopped ones, and publishes the events that ended workflows could not
   * publish.
   */
  reconcileClosed(look: LookAtClosed): Promise<LookedAtClosed>;
  /** The end of the payout as it is now. */
  payoutEnd(which: EndedWhich): Promise<PayoutEnd>;
  /** Finds open workflows of every type whose workflow task keeps failing. */
  findFailing(look: LookForFailing): Promise<FailingSearch>;
}

export interface ReportPage {
  /** A worker of another environment refuses the page. */
  environment: string;
  day: string;
  /** The workflow's time, which is Temporal's clock. Unix milliseconds. */
  nowMs: number;
  /** The page token; undefined from the first page on. */
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
  /** What follow-ups found on the day. */
  reportChanged(page: ReportPage): Promise<ReportedPage>;
}
