/** Checks that the product keeps every decision that it accepted. */
import type { PayoutState } from '../../src/contract/payout.ts';
import type { Run } from '../temporal/run.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { Plan, PlannedPayout } from './planned.ts';
import { type Decision, type Feature, isCompleted, type Scene } from './scene.ts';

/** What is wrong with the state that an accepted decision returned: it must be the state after the decision. */
export function stateProblem(
  { what, sent }: Pick<Decision, 'what'> & { sent: { by: string; lockRateId?: string | undefined } },
  { phase, quote, decisions = [] }: PayoutState,
): string | undefined {
  const isWaiting = {
    // Another quote may wait by now.
    approve: phase === 'AWAITING_APPROVAL' && quote?.lockRateId === sent.lockRateId,
    refuse: phase === 'AWAITING_APPROVAL' && quote?.lockRateId === sent.lockRateId,
    cancel: phase !== 'DONE',
    resolve: phase === 'NEEDS_REVIEW',
  }[what];
  if (isWaiting) return `returns ${phase} after an accepted ${what}`;
  // If two people cancel at once, the first one is shown.
  const isKept = decisions.some(({ action, by }) => action === what && (what === 'cancel' || by === sent.by));
  return isKept ? undefined : `does not show its accepted ${what}`;
}

export class Decisions implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async check(): Promise<void> {
    const { plan, system } = this.scene;
    // A restored Temporal does not have the decisions that were made after the snapshot.
    if (plan.restored) return;
    for (const payout of plan.payouts) this.checkOutcomeStands(payout);
    for (const payout of plan.payouts.filter((one) => keepsDecisions(plan, one)))
      for (const decision of this.scene.decisions.get(payout.number) ?? [])
        for (const problem of this.problemsAfter(payout, decision))
          system.world.violation(`${partnerOrderIdOf(payout.number)} ${problem}`);
  }

  /** Once a run has ended, only a person lets another one send (H331). */
  private checkOutcomeStands({ number }: PlannedPayout): void {
    const { world, server, provider } = this.scene.system;
    const runs = server.runs.filter(({ workflowId }) => workflowId === payoutId(number));
    if (runs.some(hasResolved)) return;
    const endedAtMs = Math.min(
      ...runs.filter(isCompleted).map(({ closedAt }) => closedAt ?? Number.POSITIVE_INFINITY),
    );
    const { creates } = provider.control.ledgerOf(partnerOrderIdOf(number));
    if (creates.some(({ atMs }) => atMs > endedAtMs))
      world.violation(`${partnerOrderIdOf(number)} was sent after its end, and nobody had decided that`);
  }

  private problemsAfter({ number }: PlannedPayout, { atMs, what, orderId }: Decision): string[] {
    const result = this.scene.results.get(number);
    if (!result) return [];
    const { creates } = this.scene.system.provider.control.ledgerOf(partnerOrderIdOf(number));
    const isStopped = what === 'refuse' || what === 'cancel';
    const isNotCreated = result.outcome === 'NOT_CREATED';
    return [
      isStopped && creates.some((create) => create.atMs > atMs) && `was sent after an accepted ${what}`,
      what === 'cancel' && !isNotCreated && `is ${result.outcome} after an accepted cancellation`,
      what === 'refuse' &&
        creates.length === 0 &&
        !isNotCreated &&
        `is ${result.outcome} after an accepted refusal`,
      orderId !== undefined &&
        result.orderId !== orderId &&
        `does not have the order ${orderId} that the operator named`,
    ].filter((problem) => typeof problem === 'string');
  }
}

function hasResolved({ entries, updates }: Run): boolean {
  return entries.some(({ event }) => {
    const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
    return updates.get(accepted?.protocolInstanceId ?? '')?.request.name === 'resolve';
  });
}

/** A reset, or a start after a termination, loses the decisions that were made since. A stranger may terminate, too. */
function keepsDecisions({ strangers }: Plan, { number, interventions }: PlannedPayout): boolean {
  const isTerminated = strangers.some((one) => one.number === number && one.replacesRunning);
  return !isTerminated && !interventions.some(({ kind }) => kind === 'reset' || kind === 'terminate');
}
