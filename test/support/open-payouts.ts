/** One open payout in each phase, and how each of them ends. */
import type { SettingsChange } from '../../simulator/index.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutState } from '../../src/contract/payout.ts';
import { newPartnerOrderId, type TestWorld } from './test-world.ts';

/** Calls may be held for long, and a create of unknown outcome is confirmed until its order appears. */
export const LONG_PHASES: Environment = {
  PAYMENTS_CALL_TIMEOUT: '5m',
  PAYOUTS_DRAIN: '6m',
  PAYMENTS_LOCK_LIFETIME: '1h',
  PAYOUTS_CONFIRMATION_WINDOW: '5h',
};

/** A lock is still valid after the approval, or when a held create is released. */
export const LONG_LOCKS: SettingsChange = { lockLifetimeMs: 3_600_000 };

export interface OpenPayout {
  ref: PayoutRef;
  phase: PayoutState['phase'];
  /** A call to the provider is in flight, so the payout cannot continue as new. */
  isCalling: boolean;
  /** Lets it end. */
  finish(): Promise<void> | void;
  outcome: 'SUCCESS' | 'NOT_CREATED';
  creates: number;
}

const DAY_MS = 24 * 3_600_000;

/** Resolves when each of them is in its phase. */
export async function openInEveryPhase(world: TestWorld): Promise<OpenPayout[]> {
  const opened = await Promise.all([
    scheduled(world),
    awaitingApproval(world),
    creating(world),
    reconciling(world),
    inReview(world),
    processing(world),
    fetchingDetail(world),
  ]);
  await Promise.all(
    opened
      .filter(({ isCalling }) => !isCalling)
      .map(({ ref, phase }) => world.until(ref, (state) => state.phase === phase)),
  );
  return opened;
}

async function scheduled(world: TestWorld): Promise<OpenPayout> {
  const ref = await world.pay('success', {
    notBefore: new Date(world.clock.wallMs() + DAY_MS).toISOString(),
  });
  const finish = async () => void (await world.payouts.cancel(ref, { by: 'olga' }));
  return { ref, phase: 'SCHEDULED', isCalling: false, finish, outcome: 'NOT_CREATED', creates: 0 };
}

async function awaitingApproval(world: TestWorld): Promise<OpenPayout> {
  const ref = await world.pay('success', { approval: 'required' });
  const finish = async () => void (await world.approveShown(ref));
  return { ref, phase: 'AWAITING_APPROVAL', isCalling: false, finish, outcome: 'SUCCESS', creates: 1 };
}

async function creating(world: TestWorld): Promise<OpenPayout> {
  const { ref, release } = await world.payHeld('before', 'success final=0s');
  return { ref, phase: 'CREATING', isCalling: true, finish: release, outcome: 'SUCCESS', creates: 1 };
}

async function reconciling(world: TestWorld): Promise<OpenPayout> {
  const ref = await world.payWithFault({ kind: 'drop-after' }, 'success readLag=1h');
  const finish = () => world.simulator.control.changeOrder(ref.partnerOrderId, { visible: true });
  return { ref, phase: 'RECONCILING', isCalling: false, finish, outcome: 'SUCCESS', creates: 1 };
}

/** The order that the provider shows is not the payout's: a person says so. */
async function inReview(world: TestWorld): Promise<OpenPayout> {
  const ref = await world.payWithFault({ kind: 'drop-after' }, 'other-beneficiary');
  const finish = async () => {
    const { reviewedOrderIds = [] } = await world.until(ref, (state) => state.reviewedOrderIds !== undefined);
    await world.payouts.resolve(ref, { by: 'olga', created: false, then: 'end', reviewedOrderIds });
  };
  return { ref, phase: 'NEEDS_REVIEW', isCalling: false, finish, outcome: 'NOT_CREATED', creates: 1 };
}

async function processing(world: TestWorld): Promise<OpenPayout> {
  const ref = await world.pay('stuck');
  const finish = () => world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
  return { ref, phase: 'PROCESSING', isCalling: false, finish, outcome: 'SUCCESS', creates: 1 };
}

async function fetchingDetail(world: TestWorld): Promise<OpenPayout> {
  const { control } = world.simulator;
  const partnerOrderId = newPartnerOrderId();
  const { id } = control.addFault({
    ...{ operation: 'queryPayDetail', partnerOrderId, fault: { kind: 'status', status: 503 } },
  });
  const ref = await world.pay('success', { partnerOrderId });
  const finish = () => control.removeFault(id);
  return { ref, phase: 'FETCHING_DETAIL', isCalling: false, finish, outcome: 'SUCCESS', creates: 1 };
}
