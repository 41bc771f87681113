/**
 * Pays at most 500 rows of a batch. The part waits for its turn. Then it starts or joins the payout of each row, as the
 * window permits, and watches it to its end. Rows are independent: the outcome of one does not affect the others.
 */
import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { batchActivities, RowChange, RowStart } from '../../activities/batch/batch-activities.ts';
import type { PartReport } from '../../contract/batch.ts';
import { LISTED_OUTCOMES, type RowOutcome } from '../../contract/codes.ts';
import { payoutBatchWorkflowId } from '../../contract/ids.ts';
import type { PayoutRequest } from '../../contract/payout-request.ts';
import { partReportSignal, stopStartingSignal, turnSignal } from '../../contract/workflows.ts';
import {
  BUSY_PHASE,
  countOf,
  isBusy,
  isRefused,
  type OpenPayouts,
  openTally,
  PartRecord,
  type PartRequest,
} from '../../domain/batch.ts';
import { HEARTBEAT_TIMEOUT, Running, UNTIL_TEMPORAL_ANSWERS } from '../shared/calls.ts';
import { isRecord, onSignal, runShielded } from '../shared/messages.ts';
import { carriedOver, continueAsNewWhenLong, isProvenStart, RunHistory } from '../shared/run-facts.ts';

/** A part whose batch was stopped before the part's turn must not wait forever. */
const BATCH_CHECK_INTERVAL = '6h';
/** Minimum time between two reports of progress. Changes that the batch acts on are reported at once. */
const REPORT_INTERVAL_MS = 2_000;

export async function payoutBatchPart(request: PartRequest, carried?: PartRecord): Promise<void> {
  const part = new PartRun(request, carriedOver(carried));
  onSignal(turnSignal, (value) => {
    // Before its turn, rows are still being added (H362).
    if (!isRecord(value) || value['signal'] !== turnSignal.name) return;
    part.record.hasTurn = true;
    part.batchIsGone = false;
    part.mustReport = true;
  });
  onSignal(stopStartingSignal, () => part.stopStarting());
  await runShielded(
    () => part.stopStarting(),
    async () => {
      await untilTurn(part);
      while (!part.isDone) {
        for (let rows = part.takeRows(); rows.length > 0; rows = part.takeRows()) {
          part.started(await startRows(part, rows));
          await reportWhenDue(part);
        }
        if (part.mustEndRefused) await endRefused(part);
        await reportWhenDue(part);
        if (part.isDone || part.batchIsGone) break;
        await continueAsNewWhenLong<typeof payoutBatchPart>(part.history, () => [
          { ...part.request, payouts: part.waiting },
          { ...part.record, continuedAt: part.provenTime() },
        ]);
        await waitForNews(part);
      }
      await reportWhenDue(part);
    },
  );
}

/** Also returns if the batch is gone: then the signal of the report fails. */
async function untilTurn(part: PartRun): Promise<void> {
  while (!part.batchIsGone && !part.isDone) {
    const isOver = await condition(() => part.record.hasTurn || part.isDone, BATCH_CHECK_INTERVAL, {
      summary: 'checks that the batch still exists',
    });
    if (isOver) return;
    await part.report();
  }
}

/** If the part is stopped meanwhile, finds out which rows were started: attempts without a response may have done so. */
async function startRows(part: PartRun, payouts: readonly PayoutRequest[]): Promise<RowStart[]> {
  const { environment, app, batchId, startedBy } = part.request;
  const rows = { environment, app, batchId, startedBy, payouts, isNew: part.isNew };
  const starting = new CancellationScope();
  part.cancelStarts = () => starting.cancel();
  try {
    const calls = batchCalls(`starts or joins ${payouts.length} payouts`);
    return await starting.run(() => calls.startPayouts(rows));
  } catch (error) {
    if (!part.record.canceled) throw error;
    return await batchCalls(`finds out which of ${payouts.length} payouts were started`).findPayouts(rows);
  } finally {
    part.cancelStarts = () => undefined;
  }
}

/** A refused quote may never end. A payout that has sent a create call refuses the cancellation. */
async function endRefused(part: PartRun): Promise<void> {
  part.mustEndRefused = false;
  const partnerOrderIds = part.record.open.filter(isRefused).flatMap((group) => group.partnerOrderIds);
  const { environment, app, batchId } = part.request;
  if (partnerOrderIds.length === 0) return;
  const calls = batchCalls(`cancels ${partnerOrderIds.length} payouts whose quote is refused`);
  await calls.cancelPayouts({ environment, app, batchId, partnerOrderIds });
}

async function reportWhenDue(part: PartRun): Promise<void> {
  const { unreported, reportedAtMs, reportedStage } = part.record;
  const isDue = unreported && Date.now() - reportedAtMs >= REPORT_INTERVAL_MS;
  if (part.mustReport || part.stage !== reportedStage || isDue) await part.report();
}

/** Waits until the open payouts bring changes. Meanwhile, the part keeps reporting to its batch. */
async function waitForNews(part: PartRun): Promise<void> {
  const { app } = part.request;
  const { open } = part.record;
  const { watchPayouts } = batchCalls('watches the payouts');
  const watch = new Running(() => watchPayouts({ app, open, minChanges: part.minChanges }));
  while (!watch.outcome && !part.batchIsGone && !part.mustEndRefused) {
    await untilReportIsDue(part, () => watch.outcome !== undefined || part.mustReport);
    // Each check of the batch adds to the history, for as long as a payout is open.
    if (part.history.isLong) break;
    await reportWhenDue(part);
  }
  const isObsolete = !watch.outcome;
  const outcome = await watch.stop();
  if ('value' in outcome) part.acceptChanges(outcome.value);
  else if (!isObsolete && !isCancellation(outcome.error)) throw outcome.error;
}

async function untilReportIsDue(part: PartRun, wake: () => boolean): Promise<void> {
  const { unreported, reportedAtMs } = part.record;
  if (!unreported) return condition(wake);
  const waitMs = Math.max(1, reportedAtMs + REPORT_INTERVAL_MS - Date.now());
  await condition(wake, waitMs, { summary: 'reports to the batch' });
}

/** Idempotent activities that call only Temporal: no rate limit, no priorities. The Temporal UI shows `summary`. */
function batchCalls(summary: string) {
  return proxyActivities<ReturnType<typeof batchActivities>>({
    startToCloseTimeout: '2m',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    summary,
    // A worker that starts rows ends its last start first.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { ...UNTIL_TEMPORAL_ANSWERS, maximumInterval: '30s' },
  });
}

const MAX_STARTS_AT_ONCE = 100;

class PartRun {
  readonly request: PartRequest;
  readonly record: PartRecord;
  readonly history = new RunHistory();
  /** Whether the start proves that no payout of its rows is older than the batch. */
  readonly isNew: boolean;
  /** No batch takes the reports, so the part starts no more rows. */
  batchIsGone = false;
  /** The part was canceled, or payouts of a canceled part have changed. */
  mustEndRefused: boolean;
  /** Cancels the activity that starts rows, if it runs. */
  cancelStarts: () => void = () => undefined;
  /** The batch expects a report now. */
  mustReport = false;
  /** The rows that haven't been started yet. */
  waiting: PayoutRequest[];
  private starting = 0;
  private readonly rowOf: Map<string, number>;

  constructor(request: PartRequest, carried: PartRecord | undefined) {
    this.request = request;
    this.record = carried ?? new PartRecord(request.payouts);
    this.isNew = isProvenStart(carried ? carried.continuedAt : request.startedAt);
    this.waiting = [...request.payouts];
    this.mustEndRefused = this.record.canceled;
    this.rowOf = new Map(this.record.partnerOrderIds.map((id, index) => [id, request.offset + index]));
    this.show();
  }

  get isDone(): boolean {
    return this.waiting.length === 0 && this.starting === 0 && this.record.open.length === 0;
  }

  private get busy(): number {
    return countOf(this.record.open.filter(isBusy));
  }

  private get allStarted(): boolean {
    return this.waiting.length === 0 && this.starting === 0 && this.busy <= this.request.window / 2;
  }

  /** Takes the next rows to start, as many as fit into the window. */
  takeRows(): PayoutRequest[] {
    const room = this.batchIsGone ? 0 : Math.max(0, this.request.window - this.busy);
    const rows = this.waiting.splice(0, Math.min(room, MAX_STARTS_AT_ONCE));
    this.starting = rows.length;
    return rows;
  }

  started(starts: readonly RowStart[]): void {
    this.starting = 0;
    const { tally } = this.record;
    for (const { partnerOrderId, now } of starts) {
      if (now !== 'started' && now !== 'joined') {
        this.end(partnerOrderId, now);
        continue;
      }
      tally[now] += 1;
      this.open(partnerOrderId, { phase: BUSY_PHASE, needsAttention: false });
    }
    this.record.unreported = true;
    this.show();
  }

  acceptChanges(changes: readonly RowChange[]): void {
    for (const { partnerOrderId, now } of changes) {
      // News may come twice, but a row ends only once.
      if (!this.close(partnerOrderId)) continue;
      if ('ended' in now) this.end(partnerOrderId, now.ended);
      else this.open(partnerOrderId, now);
    }
    this.record.unreported ||= changes.length > 0;
    this.mustEndRefused = this.record.canceled;
    this.show();
  }

  /** Starts no more rows. Payouts that were started continue, except those whose quote is refused. */
  stopStarting(): void {
    this.record.canceled = true;
    this.mustEndRefused = true;
    this.cancelStarts();
    this.record.tally.outcomes.notStarted += this.waiting.length;
    this.waiting = [];
    this.mustReport = true;
  }

  /** How many changes the watch waits for: a quarter of the window, or all once no row is left to start. */
  get minChanges(): number {
    return this.allStarted ? countOf(this.record.open) : Math.max(1, Math.floor(this.request.window / 4));
  }

  async report(): Promise<void> {
    const { app, batchId, offset, digest } = this.request;
    const { record, allStarted, isDone: ended } = this;
    const rows = { ...record.tally, ...openTally(record.open) };
    const report: PartReport = { ...rows, offset, digest, allStarted, ended };
    this.mustReport = false;
    record.unreported = false;
    record.reportedStage = this.stage;
    record.reportedAtMs = Date.now();
    try {
      await getExternalWorkflowHandle(payoutBatchWorkflowId(app, batchId)).signal(partReportSignal, report);
    } catch {
      // A batch that was started again under this id may have signaled meanwhile.
      this.batchIsGone = !this.mustReport;
    }
  }

  /** The time with which the next run proves that it is no old start, sent again. */
  provenTime(): string | undefined {
    return this.isNew ? new Date().toISOString() : undefined;
  }

  /** The batch acts on a new stage. */
  get stage(): PartRecord['reportedStage'] {
    return this.isDone ? 'ended' : this.allStarted ? 'started' : 'starting';
  }

  private open(
    partnerOrderId: string,
    { phase, needsAttention }: Omit<OpenPayouts, 'partnerOrderIds'>,
  ): void {
    const { open } = this.record;
    const group = open.find((known) => known.phase === phase && known.needsAttention === needsAttention);
    if (group) group.partnerOrderIds.push(partnerOrderId);
    else open.push({ phase, needsAttention, partnerOrderIds: [partnerOrderId] });
  }

  /** Returns whether the payout was open. */
  private close(partnerOrderId: string): boolean {
    const { open } = this.record;
    const group = open.find(({ partnerOrderIds }) => partnerOrderIds.includes(partnerOrderId));
    if (!group) return false;
    group.partnerOrderIds = group.partnerOrderIds.filter((id) => id !== partnerOrderId);
    this.record.open = open.filter(({ partnerOrderIds }) => partnerOrderIds.length > 0);
    return true;
  }

  private end(partnerOrderId: string, end: RowOutcome): void {
    const { outcomes, rows } = this.record.tally;
    outcomes[end] += 1;
    const listed = LISTED_OUTCOMES.find((known) => known === end);
    if (listed) rows[listed].push(this.rowOf.get(partnerOrderId) ?? -1);
  }

  private show(): void {
    const { count } = this.request;
    setCurrentDetails(
      this.record.hasTurn
        ? `${count} rows: ${this.waiting.length} to start, ${countOf(this.record.open)} open, ${this.busy} of them busy`
        : `${count} rows, waiting for their turn`,
    );
  }
}
