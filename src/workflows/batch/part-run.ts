/** One part of a batch as its steps see it: which rows wait, which are open, and what became of the others. */
import { continueAsNew, getExternalWorkflowHandle, setCurrentDetails } from '@temporalio/workflow';
import type { RowNews, RowStart } from '../../activities/batch/batch-types.ts';
import { partReportSignal } from '../../contract/batch-messages.ts';
import { payoutBatchWorkflowId } from '../../contract/ids.ts';
import { LISTED_OUTCOMES, type RowOutcome } from '../../domain/batch.ts';
import {
  BUSY_PHASE,
  newPartRecord,
  type OpenPayouts,
  openTally,
  type PartRecord,
  type PartReport,
  type PartRequest,
} from '../../domain/batch-record.ts';
import type { PayoutRequest } from '../../domain/payout.ts';
import { isHistoryLong } from '../shared/long-history.ts';

const MOST_STARTS_AT_ONCE = 100;

export class PartRun {
  readonly request: PartRequest;
  readonly record: PartRecord;
  /** Nobody is left to report to: then no more rows are started. */
  batchIsGone = false;
  /** The batch asked. */
  mustReport = false;
  private waiting: PayoutRequest[];
  private starting = 0;
  private readonly rowOf: Map<string, number>;

  constructor(request: PartRequest, carried: PartRecord | undefined) {
    this.request = request;
    this.record = carried ?? newPartRecord(request.payouts);
    this.waiting = [...request.payouts];
    this.rowOf = new Map(this.record.numbers.map((number, at) => [number, request.offset + at]));
    this.show();
  }

  get isDone(): boolean {
    return this.waiting.length === 0 && this.starting === 0 && this.record.open.length === 0;
  }

  private get busy(): number {
    const numbers = this.record.open
      .filter(({ phase }) => phase === BUSY_PHASE)
      .flatMap((one) => one.numbers);
    return numbers.length;
  }

  private get begun(): boolean {
    return this.waiting.length === 0 && this.starting === 0 && this.busy <= this.request.window / 2;
  }

  /** The next rows to start, as many as the window has room for. */
  takeRows(): PayoutRequest[] {
    const room = this.batchIsGone ? 0 : Math.max(0, this.request.window - this.busy);
    const rows = this.waiting.splice(0, Math.min(room, MOST_STARTS_AT_ONCE));
    this.starting = rows.length;
    return rows;
  }

  started(starts: readonly RowStart[]): void {
    this.starting = 0;
    const { tally } = this.record;
    for (const { partnerOrderId, now } of starts) {
      if (now === 'conflict' || now === 'invalid') {
        this.end(partnerOrderId, now);
        continue;
      }
      tally[now] += 1;
      this.open(partnerOrderId, { phase: BUSY_PHASE, needsAttention: false });
    }
    this.record.unreported = true;
    this.show();
  }

  heard(news: readonly RowNews[]): void {
    for (const { partnerOrderId, now } of news) {
      // A row ends once, however often it is told.
      if (!this.close(partnerOrderId)) continue;
      if ('ended' in now) this.end(partnerOrderId, now.ended);
      else this.open(partnerOrderId, now);
    }
    this.record.unreported ||= news.length > 0;
    this.show();
  }

  /** What was started goes on. */
  stopStarting(): void {
    this.record.tally.outcomes.notStarted += this.waiting.length;
    this.waiting = [];
    this.mustReport = true;
  }

  /** So many news are worth to be told at once: the room for some more starts, or everything. */
  get enoughNews(): number {
    return this.begun ? this.rowsOpen : Math.max(1, Math.floor(this.request.window / 4));
  }

  /** True when the batch can do something with it. */
  get hasTurnedACorner(): boolean {
    return this.stage !== this.record.reportedStage;
  }

  async report(): Promise<void> {
    const { offset, digest } = this.request;
    const { tally, open } = this.record;
    const report: PartReport = {
      ...tally,
      ...openTally(open),
      offset,
      digest,
      begun: this.begun,
      ended: this.isDone,
    };
    this.mustReport = false;
    this.record.unreported = false;
    this.record.reportedStage = this.stage;
    this.record.reportedAtMs = Date.now();
    const { app, batchId } = this.request;
    try {
      await getExternalWorkflowHandle(payoutBatchWorkflowId(app, batchId)).signal(partReportSignal, report);
    } catch {
      // Unless a batch of that name has just called.
      this.batchIsGone = !this.mustReport;
    }
  }

  /** Called only where nothing is under way. */
  async continueAsNewWhenLong(): Promise<void> {
    if (!isHistoryLong()) return;
    const request = { ...this.request, payouts: this.waiting };
    await continueAsNew<(request: PartRequest, carried: PartRecord) => Promise<void>>(request, this.record);
  }

  private get stage(): PartRecord['reportedStage'] {
    return this.isDone ? 'ended' : this.begun ? 'begun' : 'beginning';
  }

  private get rowsOpen(): number {
    return this.record.open.reduce((sum, { numbers }) => sum + numbers.length, 0);
  }

  private open(number: string, { phase, needsAttention }: Omit<OpenPayouts, 'numbers'>): void {
    const { open } = this.record;
    const group = open.find((known) => known.phase === phase && known.needsAttention === needsAttention);
    if (group) group.numbers.push(number);
    else open.push({ phase, needsAttention, numbers: [number] });
  }

  /** Whether it was open. */
  private close(number: string): boolean {
    const before = this.rowsOpen;
    this.record.open = this.record.open
      .map((group) => ({ ...group, numbers: group.numbers.filter((known) => known !== number) }))
      .filter(({ numbers }) => numbers.length > 0);
    return this.rowsOpen < before;
  }

  private end(number: string, end: RowOutcome): void {
    const { outcomes, rows } = this.record.tally;
    outcomes[end] += 1;
    const told = LISTED_OUTCOMES.find((known) => known === end);
    if (told) rows[told].push(this.rowOf.get(number) ?? -1);
  }

  private show(): void {
    const { count } = this.request;
    setCurrentDetails(
      this.record.hasTurn
        ? `${count} rows: ${this.waiting.length} to start, ${this.rowsOpen} open, ${this.busy} of them busy`
        : `${count} rows, waiting for their turn`,
    );
  }
}
