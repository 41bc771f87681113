/** What a batch and its parts remember: all of it survives continue-as-new, so all of it is plain data. */
import {
  type AddedRows,
  type BatchRequest,
  type BatchTally,
  emptyTally,
  LISTED_OUTCOMES,
  ROW_OUTCOMES,
  type RowRange,
} from './batch.ts';
import { type PayoutPhase, type PayoutRequest, PHASES } from './payout.ts';

/** How a part reports to its batch. */
export interface PartReport extends BatchTally {
  offset: number;
  /** Whose rows these are: a part of an older batch with other rows is not listened to. */
  digest: string;
  /** No row is left to start and few payouts are busy: the next part may begin. */
  begun: boolean;
  ended: boolean;
}

/** Anybody can send the signal that carries a report: one that cannot be added up is none. */
export function isPartReport(value: unknown): value is PartReport {
  if (!isObject(value)) return false;
  const { digest, begun, ended, phases, outcomes, rows } = value;
  if (typeof digest !== 'string' || typeof begun !== 'boolean' || typeof ended !== 'boolean') return false;
  if (!isObject(phases) || !isObject(outcomes) || !isObject(rows)) return false;
  const counts = ['offset', 'started', 'joined', 'needingAttention'].map((name) => value[name]);
  counts.push(...PHASES.map((phase) => phases[phase] ?? 0), ...ROW_OUTCOMES.map((end) => outcomes[end]));
  const told = LISTED_OUTCOMES.map((end) => rows[end]);
  return counts.every(isCount) && told.every((list) => Array.isArray(list) && list.every(isCount));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** One `add`, as the batch remembers it: the rows themselves are with the part. */
export interface Slice extends AddedRows {
  /** Fingerprints of the rows' numbers, for as long as more rows may be added. */
  keys: string;
  /** A part holds the rows. False again when somebody stopped that part: the rows have to be added again. */
  held: boolean;
  hasTurn: boolean;
  /** It knows that the batch was cancelled. */
  toldToStop: boolean;
  report?: PartReport | undefined;
}

export interface BatchRecord {
  request: BatchRequest;
  slices: Slice[];
  /** All rows were in, and are fixed from then on. */
  begun: boolean;
  cancelled: boolean;
  /** Both are read from the worker's configuration when the batch begins. */
  window: number;
  environment: string;
}

export function newBatchRecord(request: BatchRequest): BatchRecord {
  return { request, slices: [], begun: false, cancelled: false, window: 0, environment: '' };
}

export function newSlice(offset: number, count: number, digest: string, keys: string): Slice {
  return { offset, count, digest, keys, held: false, hasTurn: false, toldToStop: false };
}

/** What is not there of `count` rows: ranges that no slice covers, and slices whose part is gone. */
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
  /** Those that have not been started yet. */
  payouts: PayoutRequest[];
  /** How many payouts may be busy at once. */
  window: number;
  /** Who started the batch, and so its payouts. */
  startedBy?: string;
}

/** Payouts that have not ended, by what was last seen of them: only what differs from it is news. */
export interface OpenPayouts {
  phase: PayoutPhase;
  needsAttention: boolean;
  numbers: string[];
}

/** A payout is started in it, and leaves it when it comes to rest: until then it uses the call budget. */
export const BUSY_PHASE: PayoutPhase = 'CHECKING';

export function openTally(open: readonly OpenPayouts[]): Pick<BatchTally, 'phases' | 'needingAttention'> {
  const phases: BatchTally['phases'] = {};
  for (const { phase, numbers } of open) phases[phase] = (phases[phase] ?? 0) + numbers.length;
  const waiting = open.filter(({ needsAttention }) => needsAttention);
  return { phases, needingAttention: waiting.reduce((sum, { numbers }) => sum + numbers.length, 0) };
}

export interface PartRecord {
  /** The partnerOrderId of each row of the part. */
  numbers: string[];
  open: OpenPayouts[];
  tally: BatchTally;
  hasTurn: boolean;
  /** Something has changed since the batch was last told. */
  unreported: boolean;
  reportedStage: 'beginning' | 'begun' | 'ended';
  reportedAtMs: number;
}

export function newPartRecord(payouts: readonly PayoutRequest[]): PartRecord {
  return {
    numbers: payouts.map(({ partnerOrderId }) => partnerOrderId),
    open: [],
    tally: emptyTally(),
    hasTurn: false,
    unreported: false,
    reportedStage: 'beginning',
    reportedAtMs: 0,
  };
}
