/** The provider stops answering one operation for a long time: every payout that waits for it must be flagged. */
import type { FaultInput } from '../../simulator/index.ts';
import type { PayoutPhase } from '../../src/contract/codes.ts';
import type { Random } from '../engine/random.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { PlannedOperationOutage, PlannedPayout } from './planned.ts';
import type { Feature, Scene } from './scene.ts';

/** The phases that need each operation to make progress. */
const DEPENDENT_PHASES = {
  token: ['CHECKING', 'QUOTING', 'CREATING', 'RECONCILING', 'PROCESSING'],
  accountQuery: ['CHECKING', 'QUOTING'],
  fee: ['CHECKING', 'QUOTING'],
  queryResult: ['RECONCILING', 'PROCESSING'],
} as const satisfies Record<PlannedOperationOutage['operation'], readonly PayoutPhase[]>;
const OPERATIONS = ['token', 'accountQuery', 'fee', 'queryResult'] as const;
const FAULTS: readonly FaultInput[] = [
  { kind: 'drop-before' },
  { kind: 'html-502' },
  { kind: 'garbage' },
  { kind: 'envelope', code: 900000 },
  { kind: 'status', status: 429, retryAfter: 60 },
  { kind: 'status', status: 503 },
];
const PROBABILITY = 0.007;
const MINUTE_MS = 60_000;
/** A waiting call is flagged after five minutes; queries are flagged after three without a usable answer. */
const FLAG_LIMIT_MS = 12 * MINUTE_MS;

export function planOperationOutage(
  random: Random,
  faultPhaseMs: number,
): PlannedOperationOutage | undefined {
  if (!random.chance(PROBABILITY)) return undefined;
  return {
    operation: random.pick(OPERATIONS) ?? 'fee',
    fault: random.pick(FAULTS) ?? { kind: 'drop-before' },
    // Before most payouts start.
    atMs: random.between(0, 0.3 * faultPhaseMs),
    lastsMs: random.between(15, 30) * MINUTE_MS,
  };
}

export class OperationOutage implements Feature {
  private readonly scene: Scene;
  private startedAtMs: number | undefined;
  /** By payout number: the last phase seen, and since when without a flag. */
  private readonly lastPhases = new Map<number, { phase: PayoutPhase; sinceMs: number }>();

  constructor(scene: Scene) {
    this.scene = scene;
  }

  begin(): void {
    const { operationOutage } = this.scene.plan;
    const { world, provider } = this.scene.system;
    if (!operationOutage) return;
    const { operation, fault, atMs } = operationOutage;
    world.at(atMs, () => {
      this.startedAtMs = world.now;
      this.scene.note('provider', `stops answering ${operation}`);
      world.occurred.add(`outage: ${operation}`);
      provider.control.addFault({ operation, fault });
    });
  }

  inspect(): void {
    const { faultsEndedAtMs, plan, system } = this.scene;
    if (this.startedAtMs === undefined || faultsEndedAtMs !== undefined) return;
    for (const payout of plan.payouts)
      if (system.server.latest(payoutId(payout.number))?.isRunning)
        system.world.spawn(this.inspectPayout(payout));
  }

  private async inspectPayout({ number }: PlannedPayout): Promise<void> {
    const { plan, system, faultsEndedAtMs } = this.scene;
    const { world } = system;
    const partnerOrderId = partnerOrderIdOf(number);
    const state = await this.scene.stateOf(number);
    if (!state || !plan.operationOutage || faultsEndedAtMs !== undefined) return;
    const { phase, needsAttention, lastConfirmedAt } = state;
    const previous = this.lastPhases.get(number);
    // An answer has cleared the flag. `lastConfirmedAt` is when its question was asked, maybe long before.
    const sinceMs = previous?.phase === phase && !needsAttention ? previous.sinceMs : world.now;
    this.lastPhases.set(number, { phase, sinceMs });
    const dependent: readonly PayoutPhase[] = DEPENDENT_PHASES[plan.operationOutage.operation];
    const confirmedAtMs = lastConfirmedAt === undefined ? 0 : Date.parse(lastConfirmedAt);
    const stalledMs = world.now - Math.max(sinceMs, this.startedAtMs ?? 0, confirmedAtMs);
    if (dependent.includes(phase) && stalledMs > FLAG_LIMIT_MS && !needsAttention)
      world.violation(
        `${partnerOrderId} has been ${phase} for ${Math.round(stalledMs / MINUTE_MS)} minutes without a flag`,
      );
  }
}
