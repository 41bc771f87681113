/** The activities of batches. Types only, so that workflows can import them. */

import type { BatchRequest } from '../../contract/batch.ts';
import type { EventType, PayoutPhase, RowOutcome } from '../../contract/codes.ts';
import type { FieldError } from '../../contract/failures.ts';
import type { PayoutRequest } from '../../contract/payout-request.ts';
import type { OpenPayouts } from '../../domain/batch.ts';

export interface RowStart {
  partnerOrderId: string;
  now: 'started' | 'joined' | 'conflict' | 'invalid' | 'notStarted';
}

/** A change of one row's payout since the last look. */
export interface RowChange {
  partnerOrderId: string;
  now: { phase: PayoutPhase; needsAttention: boolean } | { ended: RowOutcome };
}

export interface WatchPayouts {
  app: string;
  open: OpenPayouts[];
  /** With fewer changes, the activity looks a few more times before it returns them. */
  minChanges: number;
}

export type CheckedRows =
  /** `digest` is the same for the same rows. `keys` contains a fingerprint of each row's number. */
  { ok: true; digest: string; keys: string } | { ok: false; errors: FieldError[] };

export interface BatchPlan {
  request: BatchRequest;
  window: number;
  environment: string;
  eventTypes?: EventType[];
}

export interface StartPayouts {
  environment: string;
  app: string;
  batchId: string;
  startedBy?: string | undefined;
  payouts: readonly PayoutRequest[];
}

export interface CancelPayouts {
  environment: string;
  app: string;
  batchId: string;
  partnerOrderIds: readonly string[];
}

/** They make no call. */
export interface BatchChecks {
  /** Fails as `InvalidPayoutRequest` on bad input. */
  prepareBatch(request: unknown, start: { workflowId: string; environment?: unknown }): Promise<BatchPlan>;
  checkRows(app: string, offset: number, payouts: readonly unknown[]): Promise<CheckedRows>;
}

/** They call only Temporal. */
export interface BatchActivities {
  /** Starts or joins a payout for each row, in any order. Idempotent. A cancellation leaves the remaining rows out. */
  startPayouts(rows: StartPayouts): Promise<RowStart[]>;
  /** Which rows have a payout. Starts none. */
  findPayouts(rows: StartPayouts): Promise<RowStart[]>;
  /** Cancels those that this batch has started. A payout that cannot be canceled continues. */
  cancelPayouts(rows: CancelPayouts): Promise<void>;
  /** Fails and is retried until there are `minChanges` changes. */
  watchPayouts(look: WatchPayouts): Promise<RowChange[]>;
}
