/** Worlds in which nothing goes wrong and nobody meddles: nothing there needs a person, and each payout is sent once. */
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import type { Random } from '../world/random.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { Plan, PlannedPayout } from './plan.ts';
import type { Feature, Scene } from './scene.ts';

const CALM = 0.06;
const SCENARIOS = [
  'success',
  'success notify=lost',
  'success notify=doubled',
  'success notify=early',
  'success notify=out-of-order',
  'split splits=3',
  'slow final=15s notify=none',
] as const;
/** Processes are still ended and started again, in good order. */
const ENDS_WITHIN_MS = 45_000;

/** The plan without trouble, where the seed says so. */
export function calmed(random: Random, plan: Plan): Plan {
  if (!random.chance(CALM)) return plan;
  const strikes = plan.strikes
    .filter(({ kind }) => kind === 'kill' || kind === 'stop')
    .map((strike) => ({ ...strike, kind: 'stop' as const, lastsMs: ENDS_WITHIN_MS }));
  return {
    ...{ ...plan, isCalm: true, faults: [], network: 0, restored: undefined, tokensEndAtMs: undefined },
    ...{ process: { evicted: 0, lost: 0, failed: 0 }, losses: { refused: 0, lost: 0 }, outage: undefined },
    standstill: undefined,
    strikes: random.chance(0.5) ? strikes : [],
    payouts: plan.payouts.map((payout) => ({
      ...payout,
      meddling: [],
      request: { ...payout.request, platform: `sim:${random.pick(SCENARIOS)}` },
    })),
    batches: plan.batches.map((batch) => ({
      ...batch,
      meddling: [],
      leavesAfter: Number.POSITIVE_INFINITY,
    })),
    openings: plan.openings.map((opening) => ({ ...opening, meddling: [] })),
  };
}

export class Calm implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async judge(): Promise<void> {
    const { plan, there } = this.scene;
    if (!plan.isCalm) return;
    for (const payout of plan.payouts)
      for (const wrong of this.wrongIn(payout))
        there.world.violation(`${partnerOrderIdOf(payout.number)} ${wrong} in a calm world`);
    // What waits longer than a worker takes to come back is late.
    if (allWereAway(plan)) return;
    for (const { workflowId, entries } of there.server.runs)
      if (wasShown(entries, 'PayoutNeedsAttention', 'true'))
        there.world.violation(`${workflowId} was flagged in a calm world`);
  }

  private wrongIn({ number, approval }: PlannedPayout): string[] {
    const { server, provider } = this.scene.there;
    const wanted = approval?.verdict === 'refuse' ? 'NOT_CREATED' : 'SUCCESS';
    const { creates } = provider.control.ledgerOf(partnerOrderIdOf(number));
    const outcome = this.scene.results.get(number)?.outcome;
    const isReviewed = server.runs.some(
      ({ workflowId, entries }) =>
        workflowId === payoutId(number) && wasShown(entries, 'PayoutPhase', '"NEEDS_REVIEW"'),
    );
    return [
      outcome !== wanted && `ended ${outcome}`,
      creates.length !== (wanted === 'SUCCESS' ? 1 : 0) && `was sent ${creates.length} times`,
      isReviewed && 'went to review',
    ].filter((wrong) => typeof wrong === 'string');
  }
}

function allWereAway({ strikes, workers }: Plan): boolean {
  return strikes.some(({ atMs }) => {
    const away = strikes.filter((other) => other.atMs <= atMs && atMs < other.atMs + other.lastsMs);
    return new Set(away.map(({ process }) => process)).size === workers;
  });
}

function wasShown(entries: Run['entries'], attribute: string, value: string): boolean {
  return entries.some(({ type, event }) => {
    if (type !== EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES) return false;
    const fields = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
    const shown = Buffer.from(fields?.[attribute]?.data ?? []).toString();
    return shown === value || shown === `[${value}]`;
  });
}
