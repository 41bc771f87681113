/** One seed: a few payouts in a world where everything goes wrong, and what must hold all the same. */
import {
  isGrpcServiceError,
  QueryNotRegisteredError,
  type WorkflowHandle,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { z } from 'zod';
import { isStaleClock } from '../../src/temporal/queries.ts';
import type { Workflows } from '../sdk.ts';
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import type { WorkerProcess } from '../temporal/worker.ts';
import { TROUBLES } from './fake-provider.ts';
import { PayoutWorld, partnerOrderIdOf, payoutId } from './payout-world.ts';

export interface SeedReport {
  seed: number;
  violations: readonly string[];
  digest: string;
  payouts: number;
  outcomes: Readonly<Record<string, number>>;
  runs: readonly Run[];
  replays: number;
  strikes: number;
  virtualMs: number;
}

const WITHIN_MS = 86_400_000;
const LOOKS_EVERY_MS = 30_000;
const STRIKES_WITHIN_MS = 60_000;

const stateShape = z.object({ phase: z.string() });
const resultShape = z.object({ outcome: z.string() });

export async function runSeed(workflows: Workflows, seed: number): Promise<SeedReport> {
  const small = new SmallWorld(workflows, seed);
  return small.run();
}

class SmallWorld {
  private readonly payouts: PayoutWorld;
  private readonly seed: number;
  private readonly count: number;
  private readonly handles = new Map<number, WorkflowHandle>();
  private readonly results = new Map<number, unknown>();
  private strikes = 0;

  constructor(workflows: Workflows, seed: number) {
    const faults = { evicted: 0.2, lost: 0.05, failed: 0.05 };
    this.payouts = new PayoutWorld({ workflows, seed, workers: 2, faults, troubles: TROUBLES });
    this.seed = seed;
    this.count = 1 + (seed % 5);
  }

  async run(): Promise<SeedReport> {
    const { world, server } = this.payouts;
    const begun = world.now;
    for (let number = 1; number <= this.count; number += 1) world.spawn(this.pay(number));
    for (const worker of server.workers) this.strikeNow(worker);
    world.spawn(this.operate());
    const ended = () => this.results.size === this.count;
    const how = await world.run({ done: ended, withinMs: WITHIN_MS });
    if (how !== 'done') world.violation(`after ${WITHIN_MS} ms of virtual time, not every payout has ended`);
    this.judge();
    return {
      seed: this.seed,
      violations: [...world.violations],
      digest: world.digest(),
      payouts: this.count,
      outcomes: this.outcomes(),
      runs: server.runs,
      replays: server.workers.reduce((sum, { replays }) => sum + replays, 0),
      strikes: this.strikes,
      virtualMs: world.now - begun,
    };
  }

  private async pay(number: number): Promise<void> {
    const { world } = this.payouts;
    await world.sleep(world.random.between(0, 5000));
    const handle = await this.payouts.start(number);
    this.handles.set(number, handle);
    this.results.set(number, await handle.result().catch((error: unknown) => error));
  }

  /** Each process is killed, frozen or cut off once or twice, and comes back. */
  private strikeNow(worker: WorkerProcess): void {
    const { world } = this.payouts;
    for (let strike = 0; strike < 2; strike += 1) {
      const kind = world.random.pick(['kill', 'freeze', 'cut'] as const);
      const lasts = world.random.between(500, 30_000);
      world.at(world.random.between(0, STRIKES_WITHIN_MS), () => {
        this.strikes += 1;
        world.record(worker.name, kind ?? '');
        if (kind === 'kill') worker.kill();
        if (kind === 'freeze') worker.frozen = true;
        if (kind === 'cut') worker.cutOff = true;
        world.at(lasts, () => {
          worker.start();
          if (kind === 'freeze') worker.frozen = false;
          if (kind === 'cut') worker.cutOff = false;
        });
      });
    }
  }

  /** A person looks at every payout and decides what needs a decision, by what the provider says. */
  private async operate(): Promise<void> {
    const { world } = this.payouts;
    while (this.results.size < this.count) {
      await world.sleep(world.random.between(0.5, 1) * LOOKS_EVERY_MS);
      for (const [number, handle] of this.handles) await this.lookAt(number, handle);
    }
  }

  private async lookAt(number: number, handle: WorkflowHandle): Promise<void> {
    const { random } = this.payouts.world;
    try {
      const { phase } = stateShape.parse(await handle.query('state'));
      if (phase !== 'NEEDS_REVIEW') return;
      const order = this.payouts.provider.orders.get(partnerOrderIdOf(number));
      const decision = order
        ? { by: 'operator', created: true, orderId: order.orderId }
        : { by: 'operator', created: false, then: random.chance(0.5) ? 'end' : 'retry' };
      await handle.executeUpdate('resolve', { args: [decision] });
    } catch (error) {
      // No worker, an update that came too late, or a query ahead of its workflow task: the next look will do.
      if (error instanceof WorkflowUpdateFailedError || isTransient(error)) return;
      this.payouts.world.violation(`${partnerOrderIdOf(number)} cannot be looked after: ${String(error)}`);
    }
  }

  private judge(): void {
    const { world, provider, server } = this.payouts;
    for (const [number, result] of this.results) {
      const partnerOrderId = partnerOrderIdOf(number);
      const debits = provider.debits.get(partnerOrderId) ?? 0;
      if (debits > 1) world.violation(`${partnerOrderId} was debited ${debits} times`);
      const parsed = resultShape.safeParse(result);
      const outcome = parsed.success ? parsed.data.outcome : `no outcome: ${String(result)}`;
      const expected = debits > 0 ? 'SUCCESS' : 'NOT_CREATED';
      if (outcome !== expected)
        world.violation(`${partnerOrderId} says ${outcome}; the ledger says ${expected}`);
      const events = server.latest(payoutId(number))?.entries ?? [];
      if (!events.some(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED))
        world.violation(`${partnerOrderId} has a result and no end`);
    }
  }

  private outcomes(): Record<string, number> {
    const outcomes: Record<string, number> = {};
    for (const result of this.results.values()) {
      const parsed = resultShape.safeParse(result);
      const outcome = parsed.success ? parsed.data.outcome : 'none';
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    return outcomes;
  }
}

function isTransient(error: unknown): boolean {
  if (error instanceof QueryNotRegisteredError) return isStaleClock(error);
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isGrpcServiceError(cause);
}
