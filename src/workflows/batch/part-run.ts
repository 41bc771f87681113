/** The state of one part of a batch: the rows that wait, the open payouts, and how the others ended. */
import { getExternalWorkflowHandle, setCurrentDetails } from '@temporalio/workflow';
import type { RowStart } from '../../activities/batch/batch-activities.ts';
import type { RowChange } from '../../activities/batch/watch-payouts.ts';
import type { PartReport } from '../../contract/batch.ts';
import { LISTED_OUTCOMES, type RowOutcome } from '../../contract/codes.ts';
import { payoutBatchWorkflowId } from '../../contract/ids.ts';
import type { PayoutRequest } from '../../contract/payout-request.ts';
import { partReportSignal } from '../../contract/workflows.ts';
import {
  BUSY_PHASE,
  isBusy,
  isRefused,
  newPartRecord,
  type OpenPayouts,
  openTally,
  type PartRecord,
  type PartRequest,
} from '../../domain/batch.ts';

const MAX_STARTS_AT_ONCE = 100;

export class PartRun {
  readonly request: PartRequest;
  readonly record: PartRecord;
  /** No batch takes the reports, so the part starts no more rows. */
  batchIsGone = false;
  /** The part was canceled, or payouts of a canceled part have changed. */
  mustEndRefused: boolean;
  /** Cancels the activity that starts rows, if it runs. */
  cancelStarts: () => void = () => undefined;
  /** The batch expects a report now. */
  mustReport = false;
  private waiting: PayoutRequest[];
  private starting = 0;
  private readonly rowOf: Map<string, number>;

  constructor(request: PartRequest, carried: PartRecord | undefined) {
    this.request = request;
    this.record = carried ?? newPartRecord(request.payouts);
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

  /** The payouts to cancel, once. */
  takeRefused(): string[] {
    if (!this.mustEndRefused) return [];
    this.mustEndRefused = false;
    return this.record.open.filter(isRefused).flatMap(({ partnerOrderIds }) => partnerOrderIds);
  }

  /** How many changes the watch waits for: a quarter of the window, or all once no row is left to start. */
  get minChanges(): number {
    return this.allStarted ? countOf(this.record.open) : Math.max(1, Math.floor(this.request.window / 4));
  }

  /** The part has reached a stage that the batch acts on and does not know yet. */
  get hasNewStage(): boolean {
    return this.stage !== this.record.reportedStage;
  }

  async report(): Promise<void> {
    const { app, batchId, offset, digest } = this.request;
    const { record, allStarted, isDone: ended } = this;
    const report: PartReport = {
      ...record.tally,
      ...openTally(record.open),
      offset,
      digest,
      allStarted,
      ended,
    };
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

  /** The request of the next run. */
  get remainingRequest(): PartRequest {
    return { ...this.request, payouts: this.waiting };
  }

  private get stage(): PartRecord['reportedStage'] {
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
    const before = countOf(this.record.open);
    this.record.open = this.record.open
      .map((group) => ({
        ...group,
        partnerOrderIds: group.partnerOrderIds.filter((id) => id !== partnerOrderId),
      }))
      .filter(({ partnerOrderIds }) => partnerOrderIds.length > 0);
    return countOf(this.record.open) < before;
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

function countOf(groups: readonly OpenPayouts[]): number {
  return groups.reduce((sum, { partnerOrderIds }) => sum + partnerOrderIds.length, 0);
}
