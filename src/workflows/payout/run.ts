/** One run of a payout as its steps see it: what it remembers, what it was told, and how it waits. */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import type { Caller } from '../../activities/shared/types.ts';
import type { Resolution } from '../../contract/payout-messages.ts';
import type {
  Attention,
  CheckedPayoutRequest,
  PayoutPhase,
  PayoutSettings,
  Reason,
} from '../../domain/payout.ts';
import {
  type CarriedOver,
  type Clearance,
  type KnownOrder,
  newRecord,
  type PayoutRecord,
} from '../../domain/payout-record.ts';
import type { TradeKey } from '../../domain/provider-records.ts';
import { withFlag, withoutFlag } from '../shared/attention.ts';
import type { CallSettings } from '../shared/calls.ts';
import { isHistoryLong } from '../shared/long-history.ts';
import { CallWatch } from './call-watch.ts';
import { showState } from './show-state.ts';

/** Thrown by a step when the payout ends without an order. */
export class NotCreated extends Error {
  override readonly name = 'NotCreated';
  readonly reason: Reason;
  /** A person decided so: nothing that is unknown stands against it. */
  readonly isDecided: boolean;

  constructor(reason: Reason, isDecided = false) {
    super(reason.message);
    this.reason = reason;
    this.isDecided = isDecided;
  }
}

type Prepared = { request: CheckedPayoutRequest; settings: PayoutSettings };

export class PayoutRun {
  readonly record: PayoutRecord;
  /** A person's decision in NEEDS_REVIEW, until the review acts on it. */
  resolution: (Resolution & { created: false }) | undefined;
  /** A `resolve` update is comparing the order that a person named. */
  isResolving = false;
  pollRequested = false;
  /** This run has confirmed that no order exists. It proves nothing to another run. */
  cleared: Clearance | undefined;

  private readonly carried: CarriedOver | undefined;
  private prepared: Prepared | undefined;
  private cancellableWork: CancellationScope | undefined;
  private readonly watch = new CallWatch({
    limitMs: () => this.settings.callWaitsMs,
    flag: (message) => {
      this.flag('CALL_WAITS', message);
      showState(this);
    },
    unflag: () => this.unflag('CALL_WAITS'),
  });

  constructor(carried: CarriedOver | undefined) {
    this.carried = carried;
    this.record = carried?.record ?? newRecord(workflowInfo().startTime.getTime());
  }

  /** Checks the request with `check`, or goes on with what an earlier run of this payout carried over. */
  async prepare(check: () => Promise<Prepared>): Promise<void> {
    this.prepared = this.carried ?? (await check());
  }

  /** An earlier run of the chain has confirmed already what is to be confirmed first. */
  get isContinued(): boolean {
    return this.carried !== undefined;
  }

  get request(): CheckedPayoutRequest {
    return this.checked.request;
  }

  get settings(): PayoutSettings {
    return this.checked.settings;
  }

  /** The checked request once there is one: handlers run before it and must not throw. */
  get checkedRequest(): CheckedPayoutRequest | undefined {
    return this.prepared?.request;
  }

  /** The order that the payout follows. Throws before there is one. */
  get order(): KnownOrder {
    const { order } = this.record;
    if (!order) throw new Error('no order has been created yet');
    return order;
  }

  get caller(): Caller {
    return { environment: this.settings.environment, app: this.request.app, openId: this.request.openId };
  }

  /** Clients take turns, so one with thousands of payouts does not hold up another. */
  get calls(): CallSettings {
    return { ...this.settings, seller: this.request.clientId };
  }

  get tradeKey(): TradeKey {
    return { clientId: this.request.clientId, partnerOrderId: this.request.partnerOrderId };
  }

  enter(phase: PayoutPhase): void {
    this.record.phase = phase;
  }

  flag(code: Attention['code'], message: string): void {
    this.record.attention = withFlag(this.record.attention, code, message);
  }

  unflag(...codes: Attention['code'][]): void {
    this.record.attention = withoutFlag(this.record.attention, ...codes);
  }

  /** One call to the provider. One that waits too long is flagged. */
  call<T>(work: () => Promise<T>): Promise<T> {
    this.record.lastAskedAtMs = Date.now();
    return this.watch.call(work);
  }

  /** As `call`, for a call of low priority: once it has waited too long, `urgently` replaces it. */
  callInTurn<T>(work: () => Promise<T>, urgently: () => Promise<T>): Promise<T> {
    this.record.lastAskedAtMs = Date.now();
    return this.watch.callInTurn(work, urgently);
  }

  /** Waits until `wake` holds or `ms` have passed. The search attributes show the state meanwhile. */
  async rest(ms: number, summary: string, wake: () => boolean): Promise<void> {
    showState(this);
    this.watch.standDownFor(ms);
    await condition(wake, Math.max(1, ms), { summary });
  }

  /** Runs `work` so that a cancel ends it; `NotCreated` when that happened. */
  async cancellable<T>(work: () => Promise<T>): Promise<T> {
    this.endIfCancelled();
    const scope = new CancellationScope();
    this.cancellableWork = scope;
    try {
      return await scope.run(work);
    } catch (error) {
      if (isCancellation(error)) this.endIfCancelled();
      throw error;
    } finally {
      this.cancellableWork = undefined;
    }
  }

  endIfCancelled(): void {
    const { cancelled } = this.record;
    if (!cancelled) return;
    const why = cancelled.reason ? `: ${cancelled.reason}` : '';
    throw new NotCreated({ code: 'CANCELLED', message: `cancelled by ${cancelled.by}${why}` });
  }

  /** Why a cancel cannot be accepted now; undefined when it can. */
  cancelProblem(): string | undefined {
    const { phase, creation, unknownSend } = this.record;
    if (phase === 'DONE') return 'the payout has ended';
    if (creation.stage === 'created') return 'the order exists; the provider offers no way to take it back';
    if (creation.stage === 'review') return 'the order may exist: use resolve';
    if (unknownSend) return 'a create was sent and its outcome is unknown: the order may exist';
    // What another run may have sent is being confirmed: unless it has, the cancel counts.
    return creation.stage === 'sending' ? 'the creation has begun' : undefined;
  }

  /** Only where `cancelProblem` finds none. */
  cancel(by: string, reason: string | undefined): void {
    this.record.cancelled ??= { by, reason };
    this.cancellableWork?.cancel();
  }

  /** A cancel that was accepted before it was known that the order exists, or may exist, has no effect. */
  dropCancel(): void {
    if (!this.record.cancelled) return;
    this.record.cancelled = undefined;
    this.flagLateCancel();
  }

  flagLateCancel(): void {
    this.flag('CANCEL_TOO_LATE', 'a cancellation came after the creation had begun; it had no effect');
  }

  /** Starts a fresh history once this one is long. Call it only while no call is under way. */
  async continueAsNewWhenLong(): Promise<void> {
    if (!isHistoryLong()) return;
    if (this.resolution) return;
    // The handler of an update that was answered just now ends in the same task.
    if (!allHandlersFinished() && !(await condition(allHandlersFinished, '1s'))) return;
    const { request, settings, record } = this;
    await continueAsNew<(request: CheckedPayoutRequest, carried: CarriedOver) => Promise<unknown>>(request, {
      request,
      settings,
      record,
    });
  }

  private get checked(): Prepared {
    if (!this.prepared) throw new Error('the request has not been checked yet');
    return this.prepared;
  }
}
