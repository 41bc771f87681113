/** The state of a batch and its parts. It survives continue-as-new, so it is plain data. */
import type {
  AddedRows,
  BatchRequest,
  BatchResult,
  BatchState,
  BatchTally,
  PartReport,
  RowRange,
} from '../contract/batch.ts';
import {
  type EventType,
  LISTED_OUTCOMES,
  type PayoutPhase,
  PHASES,
  ROW_OUTCOMES,
} from '../contract/codes.ts';
import type { StateText } from '../contract/fields.ts';
import type { PayoutRequest } from '../contract/payout-request.ts';
import { EventLog } from './events.ts';

export function emptyTally(): BatchTally {
  return {
    started: 0,
    joined: 0,
    phases: {},
    needingAttention: 0,
    outcomes: {
      SUCCESS: 0,
      PARTIAL_SUCCESS: 0,
      FAILED: 0,
      NOT_CREATED: 0,
      conflict: 0,
      invalid: 0,
      stopped: 0,
      notStarted: 0,
    },
    rows: { conflict: [], invalid: [], stopped: [] },
  };
}

export function sumTallies(tallies: readonly BatchTally[]): BatchTally {
  const sum = emptyTally();
  for (const one of tallies) {
    sum.started += one.started;
    sum.joined += one.joined;
    sum.needingAttention += one.needingAttention;
    for (const phase of PHASES) {
      const count = (sum.phases[phase] ?? 0) + (one.phases[phase] ?? 0);
      if (count > 0) sum.phases[phase] = count;
    }
    for (const end of ROW_OUTCOMES) sum.outcomes[end] += one.outcomes[end];
    for (const end of LISTED_OUTCOMES) sum.rows[end].push(...one.rows[end]);
  }
  return sum;
}

export function countEndedRows({ outcomes }: BatchTally): number {
  return sumOf(ROW_OUTCOMES.map((outcome) => outcomes[outcome]));
}

const sumOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

/** Validates a report. Anyone can send the signal that carries it, so a malformed report is ignored. */
export function isPartReport(value: unknown): value is PartReport {
  if (!isObject(value)) return false;
  const { digest, allStarted, ended, phases, outcomes, rows } = value;
  if (!isObject(phases) || !isObject(outcomes) || !isObject(rows)) return false;
  const counts = ['offset', 'started', 'joined', 'needingAttention'].map((name) => value[name]);
  const byPhase = PHASES.map((phase) => phases[phase] ?? 0);
  const byOutcome = ROW_OUTCOMES.map((outcome) => outcomes[outcome]);
  const lists = LISTED_OUTCOMES.map((outcome) => rows[outcome]);
  return (
    typeof digest === 'string' &&
    typeof allStarted === 'boolean' &&
    typeof ended === 'boolean' &&
    [...counts, ...byPhase, ...byOutcome].every(isCount) &&
    lists.every((list) => Array.isArray(list) && list.every(isCount))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** The rows of one `add`, which a part of the batch holds. */
export interface BatchPart extends AddedRows {
  /** Fingerprints of the rows' `partnerOrderId`s, kept while rows may still be added. */
  keys: string;
  /** A part holds the rows. False again after that part was stopped: the rows must be added again. */
  held: boolean;
  hasTurn: boolean;
  /** The part knows that the batch was canceled. */
  isStopping: boolean;
  report?: PartReport | undefined;
}

export class BatchRecord {
  request: BatchRequest;
  parts: BatchPart[] = [];
  /** All rows have been added. From then on, they are fixed. */
  allAdded = false;
  canceled = false;
  /** When the previous run continued as new, if it could prove that the ids of its payouts are new (H356). ISO 8601. */
  continuedAt?: string | undefined;
  /** `window` and `environment` come from the worker's configuration when the batch starts. */
  window = 0;
  environment = '';
  /** See `PayoutSettings`. */
  eventTypes?: EventType[];
  log = new EventLog();

  constructor(request: BatchRequest) {
    this.request = request;
  }
}

/** The rows that are missing: ranges that no part covers, and parts that no longer exist. */
export function missingRows(count: number, parts: readonly BatchPart[]): RowRange[] {
  const missing: RowRange[] = [];
  let next = 0;
  for (const part of [...parts].sort((a, b) => a.offset - b.offset)) {
    if (part.offset > next) missing.push({ offset: next, count: part.offset - next });
    if (!part.held) missing.push({ offset: part.offset, count: part.count });
    next = part.offset + part.count;
  }
  if (next < count) missing.push({ offset: next, count: count - next });
  return missing;
}

export interface PartRequest extends AddedRows {
  environment: string;
  app: string;
  batchId: string;
  /** The rows that haven't been started yet. */
  payouts: PayoutRequest[];
  /** The maximum number of busy payouts. */
  window: number;
  /** The caller who started the batch, and therefore its payouts. */
  startedBy?: string;
  /** When this run was started, if it can prove that the ids of its payouts are new (H356). ISO 8601. */
  startedAt?: string | undefined;
}

/** Open payouts, grouped by their last known state. Only a different state is a change. */
export interface OpenPayouts {
  phase: PayoutPhase;
  needsAttention: boolean;
  partnerOrderIds: string[];
}

/** A payout starts in this phase and leaves it when it first waits. Until then, it uses the rate limit. */
export const BUSY_PHASE: PayoutPhase = 'CHECKING';

/** A payout whose quote is refused again and again stays in the window, so that its batch doesn't start all its like. */
export function isBusy({ phase }: Pick<OpenPayouts, 'phase'>): boolean {
  return phase === BUSY_PHASE || phase === 'QUOTING';
}

/** It waits for an operator, and has no order. */
export function isRefused({ phase, needsAttention }: Pick<OpenPayouts, 'phase' | 'needsAttention'>): boolean {
  return phase === 'QUOTING' && needsAttention;
}

export function openTally(open: readonly OpenPayouts[]): Pick<BatchTally, 'phases' | 'needingAttention'> {
  const phases: BatchTally['phases'] = {};
  for (const group of open) phases[group.phase] = (phases[group.phase] ?? 0) + countOf([group]);
  return { phases, needingAttention: countOf(open.filter(({ needsAttention }) => needsAttention)) };
}

export function countOf(open: readonly OpenPayouts[]): number {
  return sumOf(open.map(({ partnerOrderIds }) => partnerOrderIds.length));
}

export class PartRecord {
  /** The partnerOrderId of each row of the part. */
  partnerOrderIds: string[];
  open: OpenPayouts[] = [];
  tally: BatchTally = emptyTally();
  hasTurn = false;
  /** The part starts no more rows, and ends payouts whose quote is refused. */
  canceled = false;
  /** The part has changed since its last report to the batch. */
  unreported = false;
  reportedStage: 'starting' | 'started' | 'ended' = 'starting';
  reportedAtMs = 0;
  /**
   * When the previous run continued as this one, if it proves that the ids of its payouts are new. Not in the request, which
   * somebody else can send as a first start (H367).
   */
  continuedAt?: string | undefined;

  constructor(payouts: readonly PayoutRequest[]) {
    this.partnerOrderIds = payouts.map(({ partnerOrderId }) => partnerOrderId);
  }
}

export function batchState(record: BatchRecord, isDone: boolean): BatchState {
  const { request, parts, canceled } = record;
  const missing = missingRows(request.count, parts);
  const missingCount = sumOf(missing.map(({ count }) => count));
  const result = batchResult(record);
  const phase = isDone ? 'DONE' : record.allAdded ? 'PAYING' : 'RECEIVING';
  return {
    ...result,
    phase,
    ...describe(phase, record, missingCount, result),
    canceled,
    added: request.count - missingCount,
    missing,
  };
}

export function batchResult({ request, parts, canceled }: BatchRecord): BatchResult {
  const tally = sumTallies(parts.map(({ report }) => report ?? emptyTally()));
  if (canceled) countMissingRows(tally, { request, parts });
  return {
    ...request,
    ...tally,
    done: countEndedRows(tally),
    rejected: tally.outcomes.conflict + tally.outcomes.invalid,
  };
}

/** Rows that were missing at the cancellation are never started. Rows whose part no longer exists count as stopped. */
function countMissingRows(
  tally: BatchTally,
  { request, parts }: Pick<BatchRecord, 'request' | 'parts'>,
): void {
  for (const { offset, count } of missingRows(request.count, parts)) {
    const wasHeld = parts.some((part) => part.offset === offset && !part.held);
    tally.outcomes[wasHeld ? 'stopped' : 'notStarted'] += count;
    if (wasHeld) tally.rows.stopped.push(...Array.from({ length: count }, (_, at) => offset + at));
  }
}

function describe(
  phase: BatchState['phase'],
  { allAdded, canceled }: BatchRecord,
  missingCount: number,
  { count, done }: BatchResult,
): StateText {
  if (phase === 'DONE') return { sentence: `All ${count} rows have finished.`, nextStep: 'Nothing.' };
  if (canceled)
    return {
      sentence: 'Canceled: the batch stops starting rows.',
      nextStep: 'The batch finishes when its started payouts have finished.',
    };
  if (missingCount === 0) {
    const sentence = allAdded ? `${done} of ${count} rows have finished.` : 'All rows have been added.';
    return { sentence, nextStep: 'None; the batch continues.' };
  }
  if (allAdded)
    return {
      sentence: `A part of the batch was stopped: ${missingCount} rows are no longer tracked.`,
      nextStep: 'Add the missing rows again. Payouts that were already started are joined.',
    };
  const sentence = `${missingCount} of ${count} rows are missing; no payout has started yet.`;
  return { sentence, nextStep: 'Add the missing rows.' };
}
