/**
 * An operator deletes the histories of paid payouts, and lets the part of the batch that started them run again: by a reset,
 * or by its old start. The part has promised that its payouts are new, and nobody knows anymore that they aren't.
 */
import { z } from 'zod';
import { PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { turnSignal } from '../../src/contract/workflows.ts';
import { PROMISE_HOLDS_MS } from '../../src/domain/new-id.ts';
import { readStartEvent } from '../../src/temporal/histories.ts';
import type { Random } from '../engine/random.ts';
import type { Run } from '../temporal/run.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { Plan, PlannedDeletion, PlannedPayout } from './planned.ts';
import { type Feature, isCompleted, type Scene } from './scene.ts';

const partSchema = z.object({ payouts: z.array(z.object({ partnerOrderId: z.string() })) });

const PROBABILITY = 0.7;
const LOOK_INTERVAL_MS = 500;
const RETRY_MS = 1_000;
/** After the faults: most payouts end within seconds. */
const LOOKS_UNTIL_MS = 300_000;
/** Rows start within a few tasks of the part. */
const ROWS_START_WITHIN_MS = 120_000;

/** A restore brings deleted histories back, and a cancellation lets the part start nothing. */
export function maybeWithDeletion(random: Random, plan: Plan): Plan {
  const isCanceled = plan.batches.some(({ interventions }) =>
    interventions.some(({ kind }) => kind === 'cancel'),
  );
  if (!random.chance(PROBABILITY) || plan.batches.length === 0 || plan.restored || isCanceled) return plan;
  return { ...plan, deletion: { repeat: random.pick(['reset', 'old-start'] as const) ?? 'reset' } };
}

export class Deletions implements Feature {
  private readonly scene: Scene;
  private isRunning = false;

  constructor(scene: Scene) {
    this.scene = scene;
    scene.system.server.onChange.push((run) => {
      const payout = scene.plan.payouts.find(({ number }) => payoutId(number) === run.workflowId);
      if (payout && run.isRunning && scene.deleted.has(payout.number)) scene.open.set(run.workflowId, payout);
    });
  }

  begin(): void {
    const { deletion } = this.scene.plan;
    if (deletion) this.scene.system.world.spawn(this.perform(deletion));
  }

  unfinished(): string[] {
    return this.isRunning ? ['the part that runs again'] : [];
  }

  private async perform({ repeat }: PlannedDeletion): Promise<void> {
    const { world, server, service, client } = this.scene.system;
    this.isRunning = true;
    const found = await this.findPart();
    if (found) {
      const { part, argument, paid } = found;
      const { workflowId } = part;
      for (const { number } of paid) {
        this.scene.deleted.add(number);
        this.scene.reopened.add(number);
        for (const run of server.runs.filter((one) => one.workflowId === payoutId(number))) {
          server.forget(run);
          service.visibility.forget(run);
        }
        this.scene.recordAction('payout', partnerOrderIdOf(number), 'delete its histories');
      }
      this.scene.recordAction('batch', workflowId, `${repeat} of a part`);
      if (repeat === 'reset') this.scene.reset(part, 0);
      else {
        await world.sleep(2 * PROMISE_HOLDS_MS);
        await this.untilDone(workflowId, () =>
          client.workflow.signalWithStart('payoutBatchPart', {
            ...{ taskQueue: PAYOUTS_TASK_QUEUE, workflowId, args: [argument] },
            ...{
              signal: turnSignal,
              signalArgs: [{ signal: turnSignal.name, batchId: paid[0]?.batch ?? '' }],
            },
          }),
        );
      }
      const isOver = () => paid.every(({ number }) => server.latest(payoutId(number)));
      const untilMs = world.now + ROWS_START_WITHIN_MS;
      while (!isOver() && world.now < untilMs) await world.sleep(LOOK_INTERVAL_MS);
    }
    this.isRunning = false;
  }

  /** The first part that has ended and has paid. Undefined if none has, some minutes after the faults. */
  private async findPart(): Promise<{ part: Run; argument: unknown; paid: PlannedPayout[] } | undefined> {
    const { scene } = this;
    const { world, server, client } = scene.system;
    const seen = new Set<Run>();
    while (world.now < (scene.faultsEndedAtMs ?? world.now) + LOOKS_UNTIL_MS) {
      await world.sleep(LOOK_INTERVAL_MS);
      const isPart = (run: Run) => run.workflowId.startsWith('payout-batch-part:') && isCompleted(run);
      for (const part of server.runs.filter((run) => isPart(run) && !seen.has(run))) {
        seen.add(part);
        const { workflowId, runId } = part;
        const { argument } = await this.untilDone(workflowId, () =>
          readStartEvent(client, workflowId, runId),
        );
        const { payouts } = partSchema.parse(argument);
        const paid = scene.plan.payouts.filter(
          (payout) =>
            payouts.some(({ partnerOrderId }) => partnerOrderId === partnerOrderIdOf(payout.number)) &&
            this.isPaid(payout),
        );
        if (paid.length > 0) return { part, argument, paid };
      }
    }
    return undefined;
  }

  /** It has an order, and no decision that its history alone knows. */
  private isPaid({ number, approval, interventions }: PlannedPayout): boolean {
    return (
      approval === undefined &&
      interventions.length === 0 &&
      this.scene.hasCompleted(payoutId(number)) &&
      this.scene.system.provider.control.ledgerOf(partnerOrderIdOf(number)).debits > 0
    );
  }

  private async untilDone<T>(about: string, act: () => Promise<T>): Promise<T> {
    for (;;) {
      const done = await this.scene.ignoreExpectedErrors(about, act);
      if (done !== undefined) return done;
      await this.scene.system.world.sleep(RETRY_MS);
    }
  }
}
