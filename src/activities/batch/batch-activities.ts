/**
 * The activities of batches: they check the rows, start their payouts, and wait for changes: by visibility, which may lag, or
 * by describing each payout.
 */
import { activityInfo, cancellationSignal, log } from '@temporalio/activity';
import {
  type Client,
  isGrpcServiceError,
  ServiceError,
  type WorkflowExecutionInfo,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { ConflictError, InvalidPayoutRequestError } from '../../client/errors.ts';
import { Payouts } from '../../client/payouts.ts';
import { failedAsBadInput, startedBefore } from '../../client/start-once.ts';
import type { WorkerConfig } from '../../config/config.ts';
import {
  type BatchRequest,
  batchRequestSchema,
  checkRows,
  rowKeys,
  rowsDigest,
} from '../../contract/batch.ts';
import { type EventType, OUTCOMES, type PayoutPhase, PHASES, type RowOutcome } from '../../contract/codes.ts';
import type { FieldError } from '../../contract/failures.ts';
import { checkBody } from '../../contract/fields.ts';
import { payoutBatchWorkflowId, payoutWorkflowId } from '../../contract/ids.ts';
import { startFactsIn } from '../../contract/memo.ts';
import { type PayoutRequest, targetErrors } from '../../contract/payout-request.ts';
import { BUSY_PHASE, type OpenPayouts } from '../../domain/batch.ts';
import { type Clock, inParallel } from '../../runtime/runtime.ts';
import { isRetryableTemporalError } from '../../temporal/client-errors.ts';
import { VisibilityLagsError } from '../../temporal/decisive-run.ts';
import { isStopped, quoteIds } from '../../temporal/visibility.ts';
import { eventTypesOf } from '../events/event-activities.ts';
import { type RunBegins, runBegins } from '../payout/earlier-runs.ts';
import { onlyHere, ownRun, type StartFacts, withHeartbeats } from '../shared/execution.ts';
import { notHere, otherId, refuse, userMissing, valid, waitByRetry } from '../shared/failures.ts';

/** They call only Temporal, except the checks, which call nothing. */
export function batchActivities(config: WorkerConfig, client: Client, clock: Clock) {
  const { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_TARGET_CURRENCIES: targetCurrencies } = config.env;
  const here = onlyHere(environment, clock);
  const begins = runBegins(client);
  const payouts = new Payouts({
    client,
    environment,
    targetCurrencies,
    clock,
    searchKeys: config.keys.search,
  });
  return {
    ...batchChecks(config),
    startPayouts: (rows: StartPayouts) =>
      here(rows, async () => {
        const isNew = !!rows.isNew && (await isRecent(begins, clock));
        return startPayouts(payouts, { ...rows, isNew }, cancellationSignal());
      }),
    findPayouts: (rows: StartPayouts) => here(rows, () => findPayouts(payouts, rows)),
    cancelPayouts: (rows: CancelPayouts) => here(rows, () => cancelPayouts(payouts, rows)),
    watchPayouts: (look: WatchPayouts) => withHeartbeats(clock, () => watchPayouts({ client, clock }, look)),
  };
}

/** Somebody else may hold a batch that was started again. Longer ones pay, too, but their payouts confirm first. */
const MAX_PAYING_MS = 3_600_000;

/** By Temporal's clock, and by this process's: the task may have been held in its queue. */
async function isRecent(begins: RunBegins, clock: Clock): Promise<boolean> {
  const nowMs = Math.max(activityInfo().currentAttemptScheduledTimestampMs, clock.wallMs());
  return nowMs - (await begins.begunAt(ownRun())) <= MAX_PAYING_MS;
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
      const batch = valid(checkBody(batchRequestSchema, request));
      const { app, batchId } = batch;
      refuse([
        ...notHere(config, app, environment),
        ...otherId('batchId', workflowId, payoutBatchWorkflowId(app, batchId)),
      ]);
      return {
        request: batch,
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
  /** Whether a payout that this starts may say that its id is new. Otherwise it confirms before it sends. */
  isNew?: boolean;
}

/**
 * Starts or joins a payout for each row with the client library, in any order. Idempotent. Tries every row. Then fails if
 * Temporal was unavailable for one of them. Starts no more rows once `signal` aborts, and fails, because an earlier attempt
 * may have started them.
 */
export async function startPayouts(
  payouts: Pick<Payouts, 'startFor'>,
  { app, batchId, startedBy, isNew = false, payouts: rows }: StartPayouts,
  signal: AbortSignal,
): Promise<RowStart[]> {
  const starts = await tryEach(rows, async (row) => {
    if (signal.aborted) return 'notStarted';
    const { joined } = await payouts.startFor({ ...row, app }, { batch: batchId, startedBy, isNew });
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
  if (error instanceof ConflictError) return 'conflict';
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
      if (startFactsIn(memo)['batch'] !== batchId) return;
      await payouts.cancel(ref, { by: `batch ${batchId}`, reason: 'the batch was canceled' });
    } catch (error) {
      // Otherwise it has ended, or may have an order.
      if (isRetryableTemporalError(error)) throw error;
    }
  });
}

const WAITS = { minMs: 400, maxMs: 15_000, growth: 1.6 };
/** After this many looks, about 8 s, any change is enough. */
const PATIENCE_LOOKS = 6;
/** About every ten minutes, after the waits have grown. */
const DESCRIBE_EVERY_LOOKS = 20;
const IDS_PER_QUERY = 100;

/** A change of one row's payout since the last look. */
export interface RowChange {
  partnerOrderId: string;
  now: { phase: PayoutPhase; needsAttention: boolean } | { ended: RowOutcome };
}

interface WatchPayouts {
  app: string;
  open: OpenPayouts[];
  /** With fewer changes, the activity looks a few more times before it returns them. */
  minChanges: number;
}

interface Lookup {
  client: Client;
  clock: Clock;
}

/** Fails and is retried until there are `minChanges` changes. */
async function watchPayouts(lookup: Lookup, { app, open, minChanges }: WatchPayouts): Promise<RowChange[]> {
  const { attempt: looks } = activityInfo();
  const look = looks % DESCRIBE_EVERY_LOOKS === 0 ? described : movedPayouts;
  const changes = await look(lookup, app, open);
  if (changes.length >= minChanges || (changes.length > 0 && looks >= PATIENCE_LOOKS)) return changes;
  throw waitByRetry('NOTHING_CHANGED', 'too little has changed yet', WAITS);
}

export async function movedPayouts(
  lookup: Lookup,
  app: string,
  open: readonly OpenPayouts[],
): Promise<RowChange[]> {
  const changes: RowChange[] = [];
  for (const known of open)
    for (let at = 0; at < known.partnerOrderIds.length; at += IDS_PER_QUERY) {
      const partnerOrderIds = known.partnerOrderIds.slice(at, at + IDS_PER_QUERY);
      changes.push(...(await moved(lookup, app, { ...known, partnerOrderIds })));
    }
  return changes;
}

async function moved(lookup: Lookup, app: string, known: OpenPayouts): Promise<RowChange[]> {
  const idOf = new Map(known.partnerOrderIds.map((id) => [payoutWorkflowId(app, id), id]));
  // A stopped payout may have several runs.
  const unclear = new Set<string>();
  const changes = new Map<string, RowChange>();
  for await (const run of lookup.client.workflow.list({ query: queryOf(known, [...idOf.keys()]) })) {
    const partnerOrderId = idOf.get(run.workflowId);
    if (partnerOrderId === undefined) continue;
    const now = standing(run);
    if (now) changes.set(partnerOrderId, { partnerOrderId, now });
    else unclear.add(partnerOrderId);
  }
  // A run without an outcome may have a successor, so describe the id.
  const partnerOrderIds = [...unclear].filter((id) => !changes.has(id));
  return [...changes.values(), ...(await described(lookup, app, [{ ...known, partnerOrderIds }]))];
}

/** Describes each payout. One call per payout, always current. */
async function described(lookup: Lookup, app: string, open: readonly OpenPayouts[]): Promise<RowChange[]> {
  const all = open.flatMap((known) => known.partnerOrderIds.map((id) => ({ known, id })));
  const found = await inParallel(all, async ({ known, id }) => {
    const now = await describedNow(lookup, payoutWorkflowId(app, id));
    return now && isChange(known, now) ? [{ partnerOrderId: id, now }] : [];
  });
  return found.flat();
}

function isChange(known: OpenPayouts, now: RowChange['now']): boolean {
  return 'ended' in now || now.phase !== known.phase || now.needsAttention !== known.needsAttention;
}

/** Undefined if the workflow was stopped: the reconciliation will restart it (H10). */
async function describedNow(
  { client, clock }: Lookup,
  workflowId: string,
): Promise<RowChange['now'] | undefined> {
  try {
    const found = await client.workflow.getHandle(workflowId).describe();
    const now = standing(found);
    if (now) return now;
    const { status, runId } = found;
    if (!isStopped(status)) return { ended: 'stopped' };
    if (status.name !== 'FAILED' || !(await failedAsBadInput(client, workflowId, runId))) return undefined;
    // Earlier runs may have sent something or have ended.
    const decisive = await startedBefore(client, clock, { workflowId, runId });
    if (!decisive) return { ended: 'invalid' };
    return decisive.saidNotCreated ? { ended: 'NOT_CREATED' } : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { ended: 'stopped' };
    if (error instanceof VisibilityLagsError) return undefined;
    throw error;
  }
}

/** Undefined if this run alone does not show it. */
function standing({
  status,
  searchAttributes,
}: Pick<WorkflowExecutionInfo, 'status' | 'searchAttributes'>): RowChange['now'] | undefined {
  const attribute = (name: string) => searchAttributes[name]?.[0];
  if (status.name === 'RUNNING' || status.name === 'PAUSED') {
    const phase = PHASES.find((known) => known === attribute('PayoutPhase')) ?? BUSY_PHASE;
    return { phase, needsAttention: attribute('PayoutNeedsAttention') === true };
  }
  const outcome = OUTCOMES.find((known) => known === attribute('PayoutOutcome'));
  return status.name === 'COMPLETED' && outcome ? { ended: outcome } : undefined;
}

function queryOf({ phase, needsAttention }: OpenPayouts, workflowIds: readonly string[]): string {
  const moves = `PayoutPhase != '${phase}' OR PayoutNeedsAttention = ${!needsAttention}`;
  return `WorkflowId IN (${quoteIds(workflowIds)}) AND ExecutionStatus != 'ContinuedAsNew' AND (ExecutionStatus != 'Running' OR ${moves})`;
}
