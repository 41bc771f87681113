/** What the reconciliation asks of its activities. Types only, so that workflows can import them. */
import type { FailingWorkflow, LeftAlone } from '../../domain/reconciliation.ts';

export interface LookFor {
  /** A worker of another environment refuses it. */
  environment: string;
  /** Runs that closed before this were seen by an earlier reconciliation. Unix milliseconds. */
  closedAfterMs: number;
}

export interface Adopted {
  adopted: number;
  /** Stopped again and again: their next turn comes later. */
  waiting: number;
  leftAlone: LeftAlone[];
  /** There is more to do; a pause first leaves the rate limit to others. */
  more: boolean;
}

export interface Followed {
  started: number;
  leftAlone: LeftAlone[];
  more: boolean;
}

export interface LookForFailing {
  environment: string;
  /** Workflow ids that were found before. */
  known: string[];
  /** Where the last look stopped. Unix milliseconds. */
  beforeMs?: number | undefined;
}

export interface Failing {
  failing: FailingWorkflow[];
  nextBeforeMs?: number | undefined;
}

/** Talk to Temporal, never to the payments service. Idempotent. */
export interface ReconcileActivities {
  /** Starts payouts again whose workflow was terminated, timed out or failed. */
  adoptStopped(look: LookFor): Promise<Adopted>;
  /** Starts the follow-up of each payout that has ended with an order. */
  followEnded(look: LookFor): Promise<Followed>;
  /** Finds open workflows of every type whose workflow task keeps failing. */
  findFailing(look: LookForFailing): Promise<Failing>;
}
