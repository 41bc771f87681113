/** The state of a batch and its parts. It survives continue-as-new, so it is plain data. */
import {
  type AddedRows,
  type BatchRequest,
  type BatchTally,
  emptyTally,
  LISTED_OUTCOMES,
  ROW_OUTCOMES,
  type RowRange,
} from './batch.ts';
import { type EventLog, type EventType, newEventLog } from './event-log.ts';
import { type PayoutPhase, type PayoutRequest, PHASES } from './payout.ts';

/** The report of a part to its batch. */
export interface PartReport extends BatchTally {
  offset: number;
  /** Identifies the rows. The batch ignores reports from a part of an older batch with other rows. */
  digest: string;
  /** Every row has been started and few payouts are busy, so the next part may begin. */
  allStarted: boolean;
  ended: boolean;
}

/** Validates a report. Anyone can send the signal that carries it, so a malformed report is ignored. */
export function isPartReport(value: unknown): value is PartReport {
  if (!isObject(value)) return false;
  const { digest, allStarted, ended, phases, outcomes, rows } = value;
  if (typeof digest !== 'string' || typeof allStarted !== 'boolean' || typeof ended !== 'boolean')
    return false;
  if (!isObject(phases) || !isObject(outcomes) || !isObject(rows)) return false;
  const counts = ['offset', 'started', 'joined', 'needingAttention'].map((name) => value[name]);
  counts.push(
    ...PHASES.map((phase) => phases[phase] ?? 0),
    ...ROW_OUTCOMES.map((outcome) => outcomes[outcome]),
  );
  const lists = LISTED_OUTCOMES.map((outcome) => rows[outcome]);
  return counts.every(isCount) && lists.every((list) => Array.isArray(list) && list.every(isCount));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** One `add` in the state of the batch. The part holds the rows themselves. */
export interface Slice extends AddedRows {
  /** Fingerprints of the rows' `partnerOrderId`s, kept while rows may still be added. */
  keys: string;
  /** A part holds the rows. False again after that part was stopped: the rows must be added again. */
  held: boolean;
  hasTurn: boolean;
  /** The part knows that the batch was canceled. */
  isStopping: boolean;
  report?: PartReport | undefined;
}

export interface BatchRecord {
  request: BatchRequest;
  slices: Slice[];
  /** All rows have been added. From then on, they are fixed. */
  allAdded: boolean;
  canceled: boolean;
  /** `window` and `environment` come from the worker's configuration when the batch starts. */
  window: number;
  environment: string;
  /** See `PayoutSettings`. */
  eventTypes?: EventType[];
  log: EventLog;
}

export function newBatchRecord(request: BatchRequest): BatchRecord {
  return {
    request,
    slices: [],
    allAdded: false,
    canceled: false,
    window: 0,
    environment: '',
    log: newEventLog(),
  };
}

export function newSlice(offset: number, count: number, digest: string, keys: string): Slice {
  return { offset, count, digest, keys, held: false, hasTurn: false, isStopping: false };
}

/** The rows that are missing: ranges that no slice covers, and slices whose part no longer exists. */
export function missingRows(count: number, slices: readonly Slice[]): RowRange[] {
  const missing: RowRange[] = [];
  let next = 0;
  for (const slice of [...slices].sort((a, b) => a.offset - b.offset)) {
    if (slice.offset > next) missing.push({ offset: next, count: slice.offset - next });
    if (!slice.held) missing.push({ offset: slice.offset, count: slice.count });
    next = slice.offset + slice.count;
  }
  if (next < count) missing.push({ offset: next, count: count - next });
  return missing;
}

export interface PartRequest extends AddedRows {
  environment: string;
  app: string;
  batchId: string;
  /** The rows that have not been started yet. */
  payouts: PayoutRequest[];
  /** The maximum number of busy payouts. */
  window: number;
  /** The caller who started the batch, and therefore its payouts. */
  startedBy?: string;
}

/** Payouts that have not ended, grouped by their last known state. Only a different state is a change. */
export interface OpenPayouts {
  phase: PayoutPhase;
  needsAttention: boolean;
  partnerOrderIds: string[];
}

/** A payout starts in this phase and leaves it when it first waits. Until then, it uses the rate limit. */
export const BUSY_PHASE: PayoutPhase = 'CHECKING';

/** A payout whose quote is refused again and again stays in the window, so that its batch does not start all its like. */
export function isBusy({ phase }: Pick<OpenPayouts, 'phase'>): boolean {
  return phase === BUSY_PHASE || phase === 'QUOTING';
}

/** It waits for a person, and has no order. */
export function isRefused({ phase, needsAttention }: Pick<OpenPayouts, 'phase' | 'needsAttention'>): boolean {
  return phase === 'QUOTING' && needsAttention;
}

export function openTally(open: readonly OpenPayouts[]): Pick<BatchTally, 'phases' | 'needingAttention'> {
  const phases: BatchTally['phases'] = {};
  for (const { phase, partnerOrderIds } of open)
    phases[phase] = (phases[phase] ?? 0) + partnerOrderIds.length;
  const waiting = open.filter(({ needsAttention }) => needsAttention);
  return {
    phases,
    needingAttention: waiting.reduce((sum, { partnerOrderIds }) => sum + partnerOrderIds.length, 0),
  };
}

export interface PartRecord {
  /** The partnerOrderId of each row of the part. */
  partnerOrderIds: string[];
  open: OpenPayouts[];
  tally: BatchTally;
  hasTurn: boolean;
  /** The part starts no more rows, and ends payouts whose quote is refused. */
  canceled: boolean;
  /** The part has changed since its last report to the batch. */
  unreported: boolean;
  reportedStage: 'starting' | 'started' | 'ended';
  reportedAtMs: number;
}

export function newPartRecord(payouts: readonly PayoutRequest[]): PartRecord {
  return {
    partnerOrderIds: payouts.map(({ partnerOrderId }) => partnerOrderId),
    open: [],
    tally: emptyTally(),
    hasTurn: false,
    canceled: false,
    unreported: false,
    reportedStage: 'starting',
    reportedAtMs: 0,
  };
}
