/** Runs the reconciliation now instead of on its schedule, with helpers for assertions. */

import { reconcileClosed } from '../../src/activities/reconciliation/reconcile-activities.ts';
import type { LookedAtClosed, Reconciler } from '../../src/activities/reconciliation/restart-stopped.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { PAYOUTS_TASK_QUEUE, reconciliationId } from '../../src/contract/ids.ts';
import type { ReconciliationReport } from '../../src/domain/reconciliation.ts';
import type { payoutReconciliation } from '../../src/workflows/reconciliation/payout-reconciliation.ts';
import { eventually } from './eventually.ts';
import { newPartnerOrderId, type TestWorld } from './test-world.ts';

export async function reconcile(world: TestWorld): Promise<ReconciliationReport> {
  return world.client.workflow.execute<typeof payoutReconciliation>('payoutReconciliation', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: `${reconciliationId('test')}-${newPartnerOrderId()}`,
    args: [{ environment: 'test' }],
  });
}

/** One call of its activity, over everything that has closed, in this process. */
export async function reconcileClosedNow(
  world: TestWorld,
  over: Partial<Reconciler> = {},
): Promise<LookedAtClosed> {
  const nowMs = world.clock.wallMs();
  const parts: Reconciler = {
    ...{ client: world.client, clock: world.clock, environment: 'test', apps: new Set(['default']) },
    ...{ endpoints: new Map(), reconcileEveryMs: 1_000, plainPayloads: 'accept' as const, ...over },
  };
  const which = { fromMs: 0, untilMs: nowMs };
  return reconcileClosed(parts, { environment: 'test', which, nowMs, room: 100 });
}

/** Visibility lags, so it may take several runs. Resolves once a run of this payout is running again. */
export async function untilStartedAgain(world: TestWorld, ref: PayoutRef, stoppedRun: string): Promise<void> {
  await eventually(async () => {
    await reconcile(world);
    return (await world.payouts.handle(ref).describe()).runId === stoppedRun ? undefined : true;
  });
}

/** Terminates the payout's workflow as an operator does in the Temporal UI. Returns the id of that run. */
export async function terminate(world: TestWorld, ref: PayoutRef): Promise<string> {
  const handle = world.payouts.handle(ref);
  const { runId } = await handle.describe();
  await handle.terminate('by a test');
  return runId;
}
