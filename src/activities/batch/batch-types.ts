/** What batches ask of their activities. Types only, so that workflows can import them. */
import type { FieldError } from '../../contract/payout-request.ts';
import type { BatchRequest, RowOutcome } from '../../domain/batch.ts';
import type { OpenPayouts } from '../../domain/batch-record.ts';
import type { PayoutPhase, PayoutRequest } from '../../domain/payout.ts';

/** What has become of one row when it was to be started. */
export interface RowStart {
  partnerOrderId: string;
  now: 'started' | 'joined' | 'conflict' | 'invalid';
}

/** What has become of one row's payout since it was last looked at. */
export interface RowNews {
  partnerOrderId: string;
  now: { phase: PayoutPhase; needsAttention: boolean } | { ended: RowOutcome };
}

export interface LookAtPayouts {
  app: string;
  open: OpenPayouts[];
  /** With fewer news than this it looks a few times more before it tells them. */
  enough: number;
}

export type CheckedRows =
  /** `digest` is the same for the same rows; `keys` holds a fingerprint of each row's number. */
  { ok: true; digest: string; keys: string } | { ok: false; errors: FieldError[] };

export interface BatchPlan {
  request: BatchRequest;
  window: number;
  environment: string;
}

export interface StartPayouts {
  /** A worker of another environment refuses them. */
  environment: string;
  app: string;
  batchId: string;
  /** Who started the batch has started its payouts. */
  startedBy?: string | undefined;
  payouts: readonly PayoutRequest[];
}

/** No API call, and quick: run as local activities. */
export interface BatchChecks {
  /** Fails as `InvalidPayoutRequest` where the batch cannot be worked on at all. */
  prepareBatch(request: unknown, start: { workflowId: string; environment?: unknown }): Promise<BatchPlan>;
  /** Names every bad row and field. */
  checkRows(app: string, offset: number, payouts: readonly unknown[]): Promise<CheckedRows>;
}

/** Talk to Temporal, never to the payments service. */
export interface BatchActivities {
  /** Starts or joins a payout for each row, in any order; idempotent. */
  startPayouts(rows: StartPayouts): Promise<RowStart[]>;
  /** Fails, to be tried again later, for as long as there is not enough to tell. */
  lookAtPayouts(look: LookAtPayouts): Promise<RowNews[]>;
}
