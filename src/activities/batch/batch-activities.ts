/** The activities of batches: they check the rows, start their payouts and wait for changes. */
import { activityInfo, cancellationSignal, log } from '@temporalio/activity';
import { type Client, isGrpcServiceError, ServiceError } from '@temporalio/client';
import { InvalidPayoutRequestError, PayoutConflictError } from '../../client/errors.ts';
import { Payouts } from '../../client/payouts.ts';
import type { WorkerConfig } from '../../config/config.ts';
import {
  type BatchRequest,
  batchRequestSchema,
  checkRows,
  rowKeys,
  rowsDigest,
} from '../../contract/batch.ts';
import type { EventType } from '../../contract/codes.ts';
import type { FieldError } from '../../contract/failures.ts';
import { checkBody } from '../../contract/fields.ts';
import { payoutBatchWorkflowId } from '../../contract/ids.ts';
import { type PayoutRequest, targetErrors } from '../../contract/payout-request.ts';
import { type Clock, inParallel } from '../../runtime/runtime.ts';
import { isRetryableTemporalError } from '../../temporal/client-errors.ts';
import { eventTypesOf } from '../events/event-activities.ts';
import { onlyHere, type StartFacts, withHeartbeats } from '../shared/execution.ts';
import { invalid, notHere, otherId, refuse, userMissing } from '../shared/failures.ts';
import { type WatchPayouts, watchPayouts } from './watch-payouts.ts';

/** They call only Temporal, except the checks, which call nothing. */
export function batchActivities(config: WorkerConfig, client: Client, clock: Clock) {
  const { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_TARGET_CURRENCIES: targetCurrencies } = config.env;
  const here = onlyHere(environment, clock);
  const payouts = new Payouts({ client, environment, targetCurrencies, clock });
  return {
    ...batchChecks(config),
    startPayouts: (rows: StartPayouts) => here(rows, () => startPayouts(payouts, rows, cancellationSignal())),
    findPayouts: (rows: StartPayouts) => here(rows, () => findPayouts(payouts, rows)),
    cancelPayouts: (rows: CancelPayouts) => here(rows, () => cancelPayouts(payouts, rows)),
    watchPayouts: (look: WatchPayouts) =>
      withHeartbeats(clock, () => watchPayouts({ client, clock }, look, activityInfo().attempt)),
  };
}

export interface BatchPlan {
  request: BatchRequest;
  window: number;
  environment: string;
  eventTypes?: EventType[];
}

export type CheckedRows =
  /** `digest` is the same for the same rows. `keys` contains a fingerprint of each row's number. */
  { ok: true; digest: string; keys: string } | { ok: false; errors: FieldError[] };

export function batchChecks(config: WorkerConfig) {
  const { env } = config;
  return {
    /** Fails as `InvalidPayoutRequest` on bad input. */
    async prepareBatch(request: unknown, { workflowId, environment }: StartFacts): Promise<BatchPlan> {
      const batch = checkBody(batchRequestSchema, request);
      if (!batch.ok) throw invalid(batch.errors);
      const { app, batchId } = batch.value;
      refuse([
        ...notHere(config, app, environment),
        ...otherId('batchId', workflowId, payoutBatchWorkflowId(app, batchId)),
      ]);
      return {
        request: batch.value,
        window: env.PAYOUTS_BATCH_WINDOW,
        environment: env.PAYMENTS_ENVIRONMENT,
        ...eventTypesOf(config, app),
      };
    },
    async checkRows(app: string, offset: number, payouts: readonly unknown[]): Promise<CheckedRows> {
      const rows = checkRows(app, payouts, offset);
      if (!rows.ok) return rows;
      const errors = rows.value.flatMap((row, at) =>
        [...userMissing(config, row.openId), ...targetErrors(row, env.PAYMENTS_TARGET_CURRENCIES)].map(
          (error) => ({ ...error, path: `${offset + at}.${error.path}` }),
        ),
      );
      if (errors.length > 0) return { ok: false, errors };
      return { ok: true, digest: rowsDigest(rows.value), keys: rowKeys(rows.value) };
    },
  };
}

export interface RowStart {
  partnerOrderId: string;
  now: 'started' | 'joined' | 'conflict' | 'invalid' | 'notStarted';
}

interface StartPayouts {
  environment: string;
  app: string;
  batchId: string;
  startedBy?: string | undefined;
  payouts: readonly PayoutRequest[];
}

/**
 * Starts or joins a payout for each row with the client library, in any order. Idempotent. Tries every row. Then fails if
 * Temporal was unavailable for one of them. Starts no more rows once `signal` aborts, and fails, because an earlier attempt
 * may have started them.
 */
export async function startPayouts(
  payouts: Pick<Payouts, 'startForBatch'>,
  { app, batchId, startedBy, payouts: rows }: StartPayouts,
  signal: AbortSignal,
): Promise<RowStart[]> {
  const starts = await tryEach(rows, async (row) => {
    if (signal.aborted) return 'notStarted';
    const { joined } = await payouts.startForBatch({ ...row, app }, batchId, startedBy);
    return joined ? 'joined' : 'started';
  });
  if (starts.some(({ now }) => now === 'notStarted')) throw signal.reason;
  return starts;
}

/** Which rows have a payout. Starts none. A row whose number belongs to another body was not started either. */
export async function findPayouts(
  payouts: Pick<Payouts, 'findForBatch'>,
  { app, batchId, payouts: rows }: StartPayouts,
): Promise<RowStart[]> {
  const found = await tryEach(rows, async (row) => {
    const known = await payouts.findForBatch({ ...row, app }, batchId);
    if (!known) return 'notStarted';
    return known.joined ? 'joined' : 'started';
  });
  return found.map((row) => (row.now === 'conflict' ? { ...row, now: 'notStarted' } : row));
}

async function tryEach(
  rows: StartPayouts['payouts'],
  start: (row: PayoutRequest) => Promise<RowStart['now']>,
): Promise<RowStart[]> {
  const failures: unknown[] = [];
  const starts = await inParallel(rows, async (row): Promise<RowStart> => {
    const { partnerOrderId } = row;
    try {
      return { partnerOrderId, now: await start(row) };
    } catch (error) {
      if (!isRetryableTemporalError(error)) return { partnerOrderId, now: verdict(error) };
      failures.push(error);
      return { partnerOrderId, now: 'notStarted' };
    }
  });
  // The retry joins the payouts that have started.
  if (failures.length > 0) throw failures[0];
  return starts;
}

function verdict(error: unknown): 'conflict' | 'invalid' {
  if (error instanceof PayoutConflictError) return 'conflict';
  if (error instanceof InvalidPayoutRequestError) return 'invalid';
  if (isGrpcServiceError(error instanceof ServiceError ? error.cause : error)) return 'invalid';
  // The payout under this number cannot be read, so it may have another body.
  log.warn('cannot compare a row with the existing payout of the same number', {
    error: error instanceof Error ? error.name : 'unknown',
  });
  return 'conflict';
}

interface CancelPayouts {
  environment: string;
  app: string;
  batchId: string;
  partnerOrderIds: readonly string[];
}

/** Cancels those that this batch has started. A payout that the batch has joined belongs to whoever started it. */
export async function cancelPayouts(
  payouts: Pick<Payouts, 'handle' | 'cancel'>,
  { app, batchId, partnerOrderIds }: CancelPayouts,
): Promise<void> {
  await inParallel(partnerOrderIds, async (partnerOrderId) => {
    const ref = { app, partnerOrderId };
    try {
      const { memo } = await payouts.handle(ref).describe();
      if (memo?.['batch'] !== batchId) return;
      await payouts.cancel(ref, { by: `batch ${batchId}`, reason: 'the batch was canceled' });
    } catch (error) {
      // Otherwise it has ended, or may have an order.
      if (isRetryableTemporalError(error)) throw error;
    }
  });
}
