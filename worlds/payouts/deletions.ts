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
import { isCompleted, PlannedTask, type Scene } from './scene.ts';

const partSchema = z.object({ payouts: z.array(z.object({ partnerOrderId: z.string() })) });

const PROBABILITY = 0.7;
const LOOK_INTERVAL_MS = 500;
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

export class Deletions extends PlannedTask {
  protected readonly task = 'the part that runs again';

  constructor(scene: Scene) {
    super(scene);
    scene.system.server.onChange.push((run) => {
      const payout = scene.plan.payouts.find(({ number }) => payoutId(number) === run.workflowId);
      if (payout && run.isRunning && scene.deleted.has(payout.number)) scene.open.set(run.workflowId, payout);
    });
  }

  begin(): void {
    const { deletion } = this.scene.plan;
    if (deletion) this.plan(0, () => this.perform(deletion), 'histories deleted');
  }

  private async perform({ repeat }: PlannedDeletion): Promise<void> {
    const { world, server, client } = this.scene.system;
    const found = await this.findPart();
    if (!found) return;
    const { part, argument, paid } = found;
    const { workflowId } = part;
    for (const payout of paid) this.deleteHistories(payout);
    this.scene.recordAction('batch', workflowId, `${repeat} of a part`);
    if (repeat === 'reset') this.scene.reset(part, 0);
    else {
      await world.sleep(2 * PROMISE_HOLDS_MS);
      const turn = { signal: turnSignal.name, batchId: paid[0]?.batch ?? '' };
      await this.scene.retryWhileUnavailable(workflowId, () =>
        client.workflow.signalWithStart('payoutBatchPart', {
          ...{ taskQueue: PAYOUTS_TASK_QUEUE, workflowId, args: [argument] },
          ...{ signal: turnSignal, signalArgs: [turn] },
        }),
      );
    }
    const isOver = () => paid.every(({ number }) => server.latest(payoutId(number)));
    const untilMs = world.now + ROWS_START_WITHIN_MS;
    while (!isOver() && world.now < untilMs) await world.sleep(LOOK_INTERVAL_MS);
  }

  private deleteHistories({ number }: PlannedPayout): void {
    const { server, service } = this.scene.system;
    this.scene.deleted.add(number);
    this.scene.reopened.add(number);
    for (const run of server.runs.filter(({ workflowId }) => workflowId === payoutId(number))) {
      server.forget(run);
      service.visibility.forget(run);
    }
    this.scene.recordAction('payout', partnerOrderIdOf(number), 'delete its histories');
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
        const start = await scene.retryWhileUnavailable(workflowId, () =>
          readStartEvent(client, workflowId, runId),
        );
        const { payouts } = partSchema.parse(start?.argument);
        const paid = scene.plan.payouts.filter(
          (payout) =>
            payouts.some(({ partnerOrderId }) => partnerOrderId === partnerOrderIdOf(payout.number)) &&
            this.isPaid(payout),
        );
        if (paid.length > 0) return { part, argument: start?.argument, paid };
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
}
