/** The activities of the reconciliation. Types only, so that workflows can import them. */
import type { FollowUpRequest } from '../../domain/follow-up.ts';
import type { FailingWorkflow, LeftAlone } from '../../domain/reconciliation.ts';

export interface LookFor {
  environment: string;
  /** An earlier reconciliation covered all runs that closed before this time. Unix milliseconds. */
  closedAfterMs: number;
}

export interface Adopted {
  adopted: number;
  /** They stopped repeatedly; a later reconciliation restarts them. */
  waiting: number;
  leftAlone: LeftAlone[];
  /** There are more. A pause before the next call leaves the rate limit to others. */
  more: boolean;
}

export interface Followed {
  started: number;
  leftAlone: LeftAlone[];
  more: boolean;
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

export interface Failing {
  failing: FailingWorkflow[];
  nextBeforeMs?: number | undefined;
}

/** They call only Temporal, and are idempotent. */
export interface ReconcileActivities {
  /** Restarts payouts whose workflow was terminated, timed out or failed. */
  adoptStopped(look: LookFor): Promise<Adopted>;
  /** Starts the missing follow-up of each payout that has ended after a create was sent, and restarts stopped ones. */
  followEnded(look: LookFor): Promise<Followed>;
  /** The end of the payout as it is now. */
  payoutEnd(which: EndedWhich): Promise<PayoutEnd>;
  /** Finds open workflows of every type whose workflow task keeps failing. */
  findFailing(look: LookForFailing): Promise<Failing>;
}
