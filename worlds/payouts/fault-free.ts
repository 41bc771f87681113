/** Worlds without faults and interventions: no payout needs a person, and each is sent exactly once. */

import type { Random } from '../engine/random.ts';
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { Plan, PlannedPayout, ProcessFault } from './planned.ts';
import type { Feature, Scene } from './scene.ts';

const FAULT_FREE_PROBABILITY = 0.06;
const SCENARIOS = [
  'success',
  'success notify=lost',
  'success notify=doubled',
  'success notify=early',
  'success notify=out-of-order',
  'split splits=3',
  'slow final=15s notify=none',
] as const;
/** Processes still shut down gracefully and start again. */
const SHUTDOWN_LIMIT_MS = 45_000;

/** With some probability, removes the faults and interventions from the plan. */
export function maybeFaultFree(random: Random, plan: Plan): Plan {
  if (!random.chance(FAULT_FREE_PROBABILITY)) return plan;
  const processFaults = plan.processFaults
    .filter(({ kind }) => kind === 'kill' || kind === 'stop')
    .map((processFault) => ({ ...processFault, kind: 'stop' as const, lastsMs: SHUTDOWN_LIMIT_MS }))
    .filter(doesNotOverlap);
  return {
    ...{ ...plan, isFaultFree: true, faults: [], network: 0, losses: { refused: 0, lost: 0 } },
    ...{ restored: undefined, temporalOutage: undefined, operationOutage: undefined },
    tokensExpireAtMs: undefined,
    pause: plan.pause && { ...plan.pause, lease: undefined },
    workflowTaskFaults: { evicted: 0, lost: 0, failed: 0 },
    processFaults: random.chance(0.5) ? processFaults : [],
    payouts: plan.payouts.map((payout) => ({
      ...payout,
      interventions: [],
      request: { ...payout.request, platform: `sim:${random.pick(SCENARIOS)}` },
    })),
    batches: plan.batches.map((batch) => ({
      ...batch,
      interventions: [],
      maxAdds: Number.POSITIVE_INFINITY,
    })),
    openings: plan.openings.map((opening) => ({ ...opening, interventions: [] })),
  };
}

/** The end of one stop would kill the process that has started again since the other one. */
function doesNotOverlap(one: ProcessFault, _at: number, all: readonly ProcessFault[]): boolean {
  return all.every(
    (other) =>
      other === one || other.process !== one.process || Math.abs(other.atMs - one.atMs) > SHUTDOWN_LIMIT_MS,
  );
}

export class FaultFree implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async check(): Promise<void> {
    const { plan, system } = this.scene;
    if (!plan.isFaultFree) return;
    for (const payout of plan.payouts)
      for (const problem of this.problemsIn(payout))
        system.world.violation(`${partnerOrderIdOf(payout.number)} ${problem} in a fault-free world`);
    // While every worker is down, a wait may exceed its time limit.
    if (allWorkersWereDown(plan)) return;
    // An endpoint that is gone disables itself, and says so.
    const mayBeFlagged = (workflowId: string) =>
      plan.events?.goneAtMs !== undefined && workflowId.startsWith('events:');
    for (const { workflowId, entries } of system.server.runs)
      if (hadAttribute(entries, 'PayoutNeedsAttention', 'true') && !mayBeFlagged(workflowId))
        system.world.violation(`${workflowId} was flagged in a fault-free world`);
  }

  private problemsIn({ number, approval }: PlannedPayout): string[] {
    const { server, provider } = this.scene.system;
    const expected = approval?.verdict === 'refuse' ? 'NOT_CREATED' : 'SUCCESS';
    const { creates } = provider.control.ledgerOf(partnerOrderIdOf(number));
    const outcome = this.scene.results.get(number)?.outcome;
    const isReviewed = server.runs.some(
      ({ workflowId, entries }) =>
        workflowId === payoutId(number) && hadAttribute(entries, 'PayoutPhase', '"NEEDS_REVIEW"'),
    );
    return [
      outcome !== expected && `ended ${outcome}`,
      creates.length !== (expected === 'SUCCESS' ? 1 : 0) && `was sent ${creates.length} times`,
      isReviewed && 'went to review',
    ].filter((problem) => typeof problem === 'string');
  }
}

function allWorkersWereDown({ processFaults, workers }: Plan): boolean {
  return processFaults.some(({ atMs }) => {
    const down = processFaults.filter((other) => other.atMs <= atMs && atMs < other.atMs + other.lastsMs);
    return new Set(down.map(({ process }) => process)).size === workers;
  });
}

function hadAttribute(entries: Run['entries'], attribute: string, value: string): boolean {
  return entries.some(({ type, event }) => {
    if (type !== EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES) return false;
    const fields = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
    const text = Buffer.from(fields?.[attribute]?.data ?? []).toString();
    return text === value || text === `[${value}]`;
  });
}
