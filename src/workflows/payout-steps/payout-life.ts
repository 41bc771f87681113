/** One payout as its steps see it: what it remembers, what it was told, and how it waits. */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  patched,
  sleep,
} from '@temporalio/workflow';
import type { Caller } from '../../activities/types.ts';
import type { CheckedPayoutRequest, PayoutPhase, PayoutSettings, Reason } from '../../domain/payout.ts';
import {
  type CarriedOver,
  type Clearance,
  newRecord,
  type PayoutRecord,
} from '../../domain/payout-record.ts';
import type { TradeKey } from '../../payments/types.ts';
import type { CallSettings } from '../calls.ts';
import { isHistoryLong } from '../long-history.ts';
import type { Resolution } from '../messages.ts';
import { showState } from './show-state.ts';

/** Thrown by a step when it is sure that no order exists: the payout ends here, in good order. */
export class NotCreated extends Error {
  override readonly name = 'NotCreated';
  readonly reason: Reason;
  constructor(reason: Reason) {
    super(reason.message);
    this.reason = reason;
  }
}

export class PayoutLife {
  readonly record: PayoutRecord;
  /** What a person said in NEEDS_REVIEW, until the review has acted on it. */
  resolution: Resolution | undefined;
  pollRequested = false;
  /** This run has asked and found that nothing was created; worth nothing to another run. */
  cleared: Clearance | undefined;

  private readonly carried: CarriedOver | undefined;
  private prepared: { request: CheckedPayoutRequest; settings: PayoutSettings } | undefined;
  private cancellableWork: CancellationScope | undefined;
  private callSinceMs: number | undefined;
  private watch: CancellationScope | undefined;
  private watchEndsMs = 0;
  private comeForward: (() => void) | undefined;

  constructor(carried: CarriedOver | undefined) {
    this.carried = carried;
    this.record = carried?.record ?? newRecord();
  }

  /** Checks the request with `prepare`, or goes on with what an earlier run of this payout carried over. */
  async prepare(
    prepare: () => Promise<{ request: CheckedPayoutRequest; settings: PayoutSettings }>,
  ): Promise<void> {
    this.prepared = this.carried ?? (await prepare());
  }

  /** It goes on with what an earlier run knew, and asks nothing that was asked before. */
  get isContinued(): boolean {
    return this.carried !== undefined;
  }

  get request(): CheckedPayoutRequest {
    if (!this.prepared) throw new Error('the request has not been checked yet');
    return this.prepared.request;
  }

  get settings(): PayoutSettings {
    if (!this.prepared) throw new Error('the request has not been checked yet');
    return this.prepared.settings;
  }

  /** The checked request once there is one: handlers run before it and must not throw. */
  get checkedRequest(): CheckedPayoutRequest | undefined {
    return this.prepared?.request;
  }

  get caller(): Caller {
    return { environment: this.settings.environment, app: this.request.app, openId: this.request.openId };
  }

  /** How its calls are made: sellers take turns, so one with thousands of payouts does not hold up another. */
  get calls(): CallSettings {
    return { ...this.settings, seller: this.request.clientId };
  }

  get tradeKey(): TradeKey {
    return { clientId: this.request.clientId, partnerOrderId: this.request.partnerOrderId };
  }

  enter(phase: PayoutPhase): void {
    this.record.phase = phase;
  }

  flag(code: string, message: string): void {
    this.record.attention = [
      ...this.record.attention.filter((known) => known.code !== code),
      { code, message },
    ];
  }

  unflag(...codes: string[]): void {
    this.record.attention = this.record.attention.filter((known) => !codes.includes(known.code));
  }

  /** One call to the service. One that waits too long is flagged, without a timer for each. */
  async call<T>(work: () => Promise<T>): Promise<T> {
    this.callSinceMs = Date.now();
    this.record.lastAskedAtMs = this.callSinceMs;
    this.keepWatch();
    try {
      return await work();
    } finally {
      this.callSinceMs = undefined;
      this.unflag('CALL_WAITS');
    }
  }

  /** As `call`, for what waits behind everybody else: once it has waited too long it is asked with more urgency. */
  async callInTurn<T>(work: () => Promise<T>, urgently: () => Promise<T>): Promise<T> {
    const scope = new CancellationScope();
    this.comeForward = () => scope.cancel();
    try {
      return await this.call(async () => {
        try {
          return await scope.run(work);
        } catch (error) {
          if (isCancellation(error)) return urgently();
          throw error;
        }
      });
    } finally {
      this.comeForward = undefined;
    }
  }

  /** Waits until `wake` holds or `ms` have passed; the state stands in the search attributes meanwhile. */
  async rest(ms: number, summary: string, wake: () => boolean): Promise<void> {
    showState(this);
    if (ms >= this.watchEndsMs - Date.now()) this.standDown();
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

  /** Only for a payout of which nothing has been sent. */
  cancel(by: string, reason: string | undefined): void {
    this.record.cancelled ??= { by, reason };
    this.cancellableWork?.cancel();
  }

  /** Starts a fresh history once this one is long; called only where nothing is under way. */
  async continueAsNewWhenLong(): Promise<void> {
    if (!isHistoryLong()) return;
    if (!allHandlersFinished() || this.resolution) return;
    const { request, settings, record } = this;
    await continueAsNew<(request: CheckedPayoutRequest, carried: CarriedOver) => Promise<unknown>>(request, {
      request,
      settings,
      record,
    });
  }

  private keepWatch(): void {
    if (this.watch) return;
    const watch = new CancellationScope();
    this.watch = watch;
    this.watchEndsMs = Date.now() + this.settings.callWaitsMs;
    void watch
      .run(() => this.watchCalls())
      .catch(() => undefined)
      .finally(() => {
        if (this.watch === watch) this.watch = undefined;
      });
  }

  /** One timer for all calls: it looks whether the call of now has waited too long, and goes when there is none. */
  private async watchCalls(): Promise<void> {
    const { callWaitsMs } = this.settings;
    let wait = callWaitsMs;
    while (wait > 0) {
      await sleep(wait, { summary: 'flags a call that waits too long' });
      if (this.callSinceMs === undefined) return;
      wait = this.callSinceMs + callWaitsMs - Date.now();
      this.watchEndsMs = Date.now() + wait;
    }
    const since = new Date(this.callSinceMs ?? Date.now()).toISOString();
    this.flag('CALL_WAITS', `a call has waited for its turn or its answer since ${since}`);
    showState(this);
    if (this.comeForward && patched('polls-come-forward')) this.comeForward();
  }

  private standDown(): void {
    this.watch?.cancel();
    this.watch = undefined;
  }
}
