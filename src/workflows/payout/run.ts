/**
 * One run of a payout as its steps see it: its record, its calls, its waits, its cancellation, and the transitions between
 * the stages of the creation (see `create.ts`).
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  makeContinueAsNewFunc,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import type { QuoteResult } from '../../activities/payout/quote-payout.ts';
import type { PayoutPhase } from '../../contract/codes.ts';
import { CREATE_SENT } from '../../contract/memo.ts';
import type { Attention, MadeDecision, Reason } from '../../contract/payout.ts';
import type { CheckedPayoutRequest, PayoutRequest } from '../../contract/payout-request.ts';
import type { TradeKey } from '../../contract/provider-records.ts';
import type { NotCreatedResolution } from '../../contract/workflows.ts';
import {
  type CarriedOver,
  type Clearance,
  PayoutRecord,
  type UnknownCause,
  withDecision,
} from '../../domain/payout-record.ts';
import type { CallSettings } from '../shared/calls.ts';
import { Publisher } from '../shared/publish-events.ts';
import { RequestRun, type Work } from '../shared/request-run.ts';
import { RunHistory, targetVersionChanged } from '../shared/run-facts.ts';
import { windowEndMs } from '../shared/uncertain-send.ts';
import { showState } from './show-state.ts';

/** A notification may arrive every second, and each may cost four events: far fewer in this time than Temporal's limit. */
const LONGEST_REST_MS = 3_600_000;

type Next = (started: PayoutRequest, carried: CarriedOver) => Promise<unknown>;

/** Thrown by a step when the payout ends without an order. */
export class NotCreated extends Error {
  override readonly name = 'NotCreated';
  readonly reason: Reason;
  /** A person decided this, so a send of unknown outcome does not prevent it. */
  readonly isDecided: boolean;

  constructor(reason: Reason, isDecided = false) {
    super(reason.message);
    this.reason = reason;
    this.isDecided = isDecided;
  }
}

const FIRST_HINT_WAIT_MS = 1_000;
/** Spreads the polls of payouts that started together. */
const JITTER = 0.2;

export type LearnedBy = 'notification' | 'poll';

export function spread(ms: number): number {
  return Math.round(ms * (1 + JITTER * (Math.random() - 0.5)));
}

export class PayoutRun extends RequestRun<CheckedPayoutRequest, Attention['code']> {
  readonly record: PayoutRecord;
  readonly publisher: Publisher;
  /** A decision in NEEDS_REVIEW and the orders that it knew, until the review carries it out, and keeps it, or not. */
  resolution: { decision: NotCreatedResolution; made: MadeDecision; knownOrderIds: string[] } | undefined;
  pollRequested = false;
  /** From the first activity, until it is used. */
  firstQuote: QuoteResult | undefined;
  /** This run has confirmed that no order exists. It proves nothing to another run. */
  cleared: Clearance | undefined;
  /** Another run has ended with an outcome, and nobody has decided that this one may send (H331). */
  outcomeStands = false;

  /** As the caller sent it: a later start with the same body joins each run. */
  private readonly started: PayoutRequest;
  private readonly history = new RunHistory();
  private cancellableWork: CancellationScope | undefined;
  /** Of the last wait. A wait that ended early leaves it to the next one: to cancel it costs a history event. */
  private timer: CancellationScope | undefined;

  constructor(started: PayoutRequest, carried: CarriedOver | undefined) {
    super();
    this.started = started;
    this.prepared = carried;
    this.record = carried?.record ?? new PayoutRecord(workflowInfo().startTime.getTime());
    this.publisher = new Publisher(this.record.log, () => {
      if (!this.prepared) return undefined;
      const { settings, request } = this.prepared;
      return { ...settings, app: request.app, metadata: request.metadata };
    });
  }

  /** Clients take turns, so one with thousands of payouts does not delay another. */
  get calls(): CallSettings {
    return { ...this.settings, onBehalfOf: this.request.clientId };
  }

  get tradeKey(): TradeKey {
    return { clientId: this.request.clientId, partnerOrderId: this.request.partnerOrderId };
  }

  enter(phase: PayoutPhase): void {
    this.record.phase = phase;
  }

  /** The shared settings require it now. The next attempt waits for it. */
  requireApproval(): void {
    const { request, settings } = this;
    this.prepared = { request: { ...request, approval: 'required' }, settings };
    this.record.creation = { stage: 'quoting' };
  }

  /** A decision that applies. */
  keep(decision: MadeDecision): void {
    this.record.decisions = withDecision(this.record.decisions, decision);
  }

  show(): void {
    showState(this);
  }

  /** Waits until `wake` holds or `ms` have passed. The search attributes show the state meanwhile. */
  async rest(ms: number, summary: string, wake: () => boolean = () => false): Promise<void> {
    this.show();
    this.timer?.cancel();
    if (wake()) return;
    const timer = new CancellationScope();
    this.timer = timer;
    let isOver = false;
    void timer
      .run(() => sleep(Math.max(1, ms), { summary }))
      .then(() => {
        isOver = true;
      })
      .catch(() => undefined);
    await condition(() => isOver || wake());
  }

  /**
   * Waits for up to an hour of a wait that may take days, then continues as new if notifications have made the history
   * long, or workers have another version. Throws `NotCreated` if the payout is canceled. Call it in a loop, until `wake`
   * holds or the time is over.
   */
  async restForDays(ms: number, summary: string, wake: () => boolean = () => false): Promise<void> {
    const wakes = () => wake() || (targetVersionChanged() && !this.resolution && allHandlersFinished());
    await this.cancellable(() => this.rest(Math.min(ms, LONGEST_REST_MS), summary, wakes));
    if (wake() || this.record.canceled) return;
    // The clearance applies only to this run: the next one would have to confirm again.
    if (!this.cleared || workflowInfo().continueAsNewSuggested || targetVersionChanged())
      await this.continueAsNewWhenDue();
  }

  /** Runs `work` until it ends or the payout is canceled. Throws `NotCreated` if it is canceled. */
  async cancellable<T>(work: () => Promise<T>): Promise<T> {
    this.endIfCanceled();
    const scope = new CancellationScope();
    this.cancellableWork = scope;
    try {
      return await scope.run(work);
    } catch (error) {
      if (isCancellation(error)) this.endIfCanceled();
      throw error;
    } finally {
      this.cancellableWork = undefined;
    }
  }

  endIfCanceled(): void {
    const { canceled } = this.record;
    if (!canceled) return;
    const why = canceled.reason ? `: ${canceled.reason}` : '';
    throw new NotCreated({ code: 'CANCELLED', message: `canceled by ${canceled.by}${why}` });
  }

  /** Why the payout cannot be canceled now; undefined if it can. */
  cancelProblem(): string | undefined {
    const { phase, creation, unknownSend, sends } = this.record;
    if (phase === 'DONE') return 'the payout has ended';
    if (creation.stage === 'created') return 'the order exists, and the provider cannot cancel it';
    if (creation.stage === 'review') return 'the order may exist: use resolve';
    if (unknownSend || (creation.stage === 'confirming' && sends > 0))
      return 'a create call was sent, and its outcome is unknown: the order may exist';
    // While the payout confirms whether another run has sent, a cancellation counts unless one has.
    return creation.stage === 'sending' ? 'the creation has begun' : undefined;
  }

  /** Call it only if `cancelProblem` finds none. */
  cancel(by: string, reason: string | undefined): void {
    this.record.canceled ??= { by, reason };
    this.cancellableWork?.cancel();
  }

  /** The order exists, or may exist, so a cancellation that was accepted before has no effect. */
  dropCancel(): void {
    if (!this.record.canceled) return;
    this.record.canceled = undefined;
    this.flagLateCancel();
  }

  flagLateCancel(): void {
    this.flag('CANCEL_TOO_LATE', 'the cancellation had no effect, because the creation had begun');
  }

  /**
   * Continues as new if the history is long or workers have another version, on the version that is right for this
   * payout then. Call it only while no call is under way.
   */
  async continueAsNewWhenDue(): Promise<void> {
    if (!this.history.isLong && !targetVersionChanged()) return;
    await this.publisher.settle();
    if (this.resolution) return;
    // The handler of an update that was just answered ends in the same workflow task.
    if (!allHandlersFinished() && !(await condition(allHandlersFinished, '1s'))) return;
    const { request, settings, record } = this;
    // Otherwise the next run of a pinned payout would begin on the same version.
    const onTarget = makeContinueAsNewFunc<Next>({ initialVersioningBehavior: 'AUTO_UPGRADE' });
    await onTarget(this.started, { request, settings, record });
  }

  /** A create that this run or an earlier one sent may have created the order. */
  markOutcomeUnknown(cause: UnknownCause): void {
    this.noteUnknownSend(cause);
    this.confirmFirst(cause);
  }

  noteUnknownSend(cause: UnknownCause): void {
    // The memo outlives the run: a follow-up reads it, and so does a run that reconciliation starts.
    if (!this.record.unknownSend) upsertMemo(CREATE_SENT);
    this.record.unknownSend ??= { cause, sinceMs: Date.now() };
    this.dropCancel();
  }

  confirmFirst(cause: UnknownCause, end?: Reason): void {
    const readsFromMs = Date.now() + this.settings.readLagMs;
    this.record.creation = {
      stage: 'confirming',
      cause,
      readsFromMs,
      untilMs: Math.max(windowEndMs(this.settings), readsFromMs),
      queries: 0,
      end,
    };
  }

  enterReview(reason: string): void {
    this.record.creation = { stage: 'review', reason };
    this.dropCancel();
  }

  /** The create certainly created nothing: starts over with a new quote, within the same limits. */
  requote(): void {
    this.record.quote = undefined;
    this.startOver();
  }

  /** The next step is a quote, or the send itself if the lock is still valid. */
  startOver(): void {
    this.record.creationRestarts += 1;
    this.record.creation = { stage: 'quoting' };
  }

  /**
   * When to query the provider next: after a notification, after a `poll` update, or when the poll timer fires. A notification
   * may be forged, so each one that did not reveal a final status doubles the wait before the next one has an effect. Waits until
   * there is a reason to query, `ms` have passed, or `also` holds.
   */
  async waitForNotificationOrPoll(
    ms: number,
    summary: string,
    also: () => boolean = () => false,
  ): Promise<LearnedBy> {
    const { record } = this;
    const pollAtMs = Date.now() + ms;
    const isWoken = () => this.pollRequested || also();
    while (Date.now() < pollAtMs && !isWoken()) {
      if (record.hinted && Date.now() >= record.hintAllowedAtMs) return 'notification';
      const wasHinted = record.hinted;
      const untilMs = wasHinted ? Math.min(pollAtMs, record.hintAllowedAtMs) : pollAtMs;
      await this.rest(untilMs - Date.now(), summary, () => isWoken() || record.hinted !== wasHinted);
    }
    return record.hinted ? 'notification' : 'poll';
  }

  /**
   * One query about the order. It answers every earlier notification; a notification during it leads to another query.
   * `late` replaces a query that waits too long, so that payouts of a busy application keep polling.
   */
  async query<T>(work: Work<T>, late = work): Promise<T> {
    const { record, settings } = this;
    if (record.hinted) {
      const waitMs = Math.min(settings.pollFirstMs, FIRST_HINT_WAIT_MS * 2 ** record.hintedQueries);
      record.hintAllowedAtMs = Date.now() + waitMs;
      record.hintedQueries += 1;
    }
    record.hinted = false;
    this.pollRequested = false;
    try {
      return await this.call(work, late);
    } finally {
      record.queries += 1;
    }
  }
}
