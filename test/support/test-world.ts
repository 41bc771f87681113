/** What every world of a test offers: payouts to start and steer, and the simulator that pays them. */
import { randomUUID } from 'node:crypto';
import { type Client, isGrpcServiceError, ServiceError } from '@temporalio/client';
import type { FaultInput, FaultRuleInput, SimulatorControl } from '../../simulator/index.ts';
import type { PayoutRef, Payouts } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import type { Clock } from '../../src/runtime/runtime.ts';
import { eventually } from './eventually.ts';
import { payoutRequest } from './requests.ts';

/** Short enough for a test, in the proportions of the defaults. */
export const QUICK: Environment = {
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_APP_ID: 'demo-app',
  PAYMENTS_APP_SECRET: 'demo-secret',
  PAYMENTS_REDIRECT_URI: 'http://127.0.0.1:9/v1/oauth/default/callback',
  PAYMENTS_CALL_TIMEOUT: '2s',
  PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
  // The simulator's trade queries ignore the client, unless a test says otherwise.
  PAYMENTS_CLIENT_PAIRS: 'trusted',
  PAYMENTS_READ_LAG: '100ms',
  PAYOUTS_CONFIRMATION_WINDOW: '1s',
  PAYOUTS_POLL_FIRST: '200ms',
  PAYOUTS_POLL_MAX: '1s',
};

/**
 * Without polls: only a notification or a person makes this payout query the provider. No poll repairs what a slow machine
 * missed, so calls have no short timeout.
 */
export const NO_POLLS: Environment = {
  PAYOUTS_POLL_FIRST: '1h',
  PAYOUTS_POLL_MAX: '1h',
  PAYMENTS_CALL_TIMEOUT: '1m',
};

/** gRPC's CANCELLED, DEADLINE_EXCEEDED, and FAILED_PRECONDITION: a workflow task was late or failed, and is retried. */
const GAVE_UP: readonly number[] = [1, 4, 9];

/** Approves the quote that the payout shows. */
export async function approveShown(payouts: Payouts, ref: PayoutRef): Promise<PayoutState> {
  const { quote } = await payouts.state(ref);
  return payouts.approve(ref, { by: 'olga', lockRateId: quote?.lockRateId });
}

export abstract class TestWorld {
  abstract readonly namespace: string;
  abstract readonly client: Client;
  abstract readonly payouts: Payouts;
  abstract readonly clock: Clock;
  abstract readonly simulator: { readonly control: SimulatorControl };

  /** The environment for a process of this world, such as the command line. */
  abstract get workerEnvironment(): Environment;
  /** Starts the workers, after a stop with a changed environment. */
  abstract startWorkers(change?: Environment): Promise<void>;
  abstract stopWorkers(): Promise<void>;
  /** A client with its own payload keys; without keys it sends plain payloads. */
  abstract speaking(keys: string | undefined): Client;
  abstract stop(): Promise<void>;

  /** Starts a plain payout whose order follows `scenario`. Returns its reference. */
  async pay(scenario: string, over: Partial<PayoutRequest> = {}): Promise<PayoutRef> {
    const request = payoutRequest(newPartnerOrderId(), { platform: `sim:${scenario}`, ...over });
    await this.payouts.start(request);
    return { partnerOrderId: request.partnerOrderId };
  }

  /** Like `pay`, with one fault in its first create, or in the first call of another operation. */
  async payWithFault(
    fault: FaultInput,
    scenario: string,
    operation: FaultRuleInput['operation'] = 'createCnyOrder',
  ): Promise<PayoutRef> {
    const partnerOrderId = newPartnerOrderId();
    this.simulator.control.addFault({ operation, partnerOrderId, times: 1, fault });
    return this.pay(scenario, { partnerOrderId });
  }

  /** A payout whose create is held at the provider, before or after its effect, until `release`. */
  async payHeld(
    effect: 'before' | 'after',
    scenario: string,
  ): Promise<{ ref: PayoutRef; release: () => void }> {
    const partnerOrderId = newPartnerOrderId();
    const held = this.holdCreate(partnerOrderId, effect);
    const ref = await this.pay(scenario, { partnerOrderId });
    await eventually(held.arrived);
    return { ref, release: held.release };
  }

  /** Holds the first create under this partnerOrderId. */
  holdCreate(partnerOrderId: string, effect: 'before' | 'after') {
    return this.hold({ operation: 'createCnyOrder', partnerOrderId, times: 1 }, effect);
  }

  /** Holds calls at the provider, before or after their effect, until `release`. */
  hold(which: Omit<FaultRuleInput, 'fault'>, effect: 'before' | 'after') {
    const { control } = this.simulator;
    const { id } = control.addFault({ ...which, fault: { kind: 'hold-until-released', effect } });
    const holds = () => control.faults().some((rule) => rule.id === id && rule.held > 0);
    return {
      arrived: () => holds() || undefined,
      release: () => {
        control.releaseFault(id);
        control.removeFault(id);
      },
    };
  }

  /** Waits until the payout's state matches, on a machine of any speed. */
  async until(ref: PayoutRef, wanted: (state: PayoutState) => boolean): Promise<PayoutState> {
    return untilState(this.payouts, ref, wanted);
  }

  async approveShown(ref: PayoutRef): Promise<PayoutState> {
    await this.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    return approveShown(this.payouts, ref);
  }

  async history(ref: PayoutRef) {
    return this.payouts.handle(ref).fetchHistory();
  }

  /** What a run, by default the latest, did after its last call to the provider; empty while a call is in flight. */
  async sinceLastCall(ref: PayoutRef, runId?: string) {
    const { workflowId } = this.payouts.handle(ref);
    const { events } = await this.client.workflow.getHandle(workflowId, runId).fetchHistory();
    const all = events ?? [];
    const last = all.findLastIndex((event) => event.activityTaskCompletedEventAttributes);
    const since = all.slice(last + 1);
    return since.some((event) => event.activityTaskScheduledEventAttributes) ? [] : since;
  }

  /** Makes the history long enough for continue-as-new, with notifications that name another payout and wake nothing. */
  async lengthen(ref: PayoutRef): Promise<void> {
    const ignored = { receivedAt: new Date().toISOString(), partnerOrderId: 'another' };
    await Promise.all(Array.from({ length: 500 }, () => this.payouts.notify(ref, ignored)));
  }
}

/** Fails when the payout ends without ever matching. */
export async function untilState(
  payouts: Payouts,
  ref: PayoutRef,
  wanted: (state: PayoutState) => boolean,
): Promise<PayoutState> {
  return eventually(async () => {
    const state = await payouts.state(ref).catch(gaveUp);
    if (state === undefined) return undefined;
    if (wanted(state)) return state;
    if (state.phase === 'DONE') throw new Error(`it has ended otherwise: ${JSON.stringify(state)}`);
    return undefined;
  });
}

/** A busy server that gave up on a query is asked again; any other error is thrown. */
function gaveUp(error: unknown): undefined {
  const cause = error instanceof ServiceError ? error.cause : undefined;
  if (isGrpcServiceError(cause) && GAVE_UP.includes(cause.code)) return undefined;
  throw error;
}

export function newPartnerOrderId(): string {
  return `p-${randomUUID()}`;
}
