/** Batches in a world: their callers, the interventions, and the checks of each batch. */
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { Batches as Starter } from '../../src/client/batches.ts';
import type { BatchResult } from '../../src/contract/batch.ts';
import { OUTCOMES, type PayoutOutcome } from '../../src/contract/codes.ts';
import { PAYOUTS_TASK_QUEUE, payoutBatchWorkflowId } from '../../src/contract/ids.ts';
import { addUpdate } from '../../src/contract/workflows.ts';
import { countEndedRows } from '../../src/domain/batch.ts';
import type { payoutBatch } from '../../src/workflows/batch/payout-batch.ts';
import type { Random } from '../engine/random.ts';
import { payoutId } from './payout-world.ts';
import type { BatchIntervention, Plan, PlannedBatch, PlannedPayout } from './planned.ts';
import type { Feature, Scene } from './scene.ts';
import { isStarted } from './strangers.ts';

const NO_LIMIT = Number.POSITIVE_INFINITY;

export function planBatch(random: Random, batchId: string, atMs: number): PlannedBatch {
  const interventions: BatchIntervention[] = [];
  const maybeIntervene = (kind: BatchIntervention['kind'], chance: number) => {
    if (!random.chance(chance)) return;
    interventions.push({ kind, atMs: atMs + random.between(0, random.pick([3_000, 20_000, 100_000]) ?? 0) });
  };
  maybeIntervene('start-again', 0.4);
  maybeIntervene('start-other-rows', 0.3);
  maybeIntervene('terminate-part', 0.3);
  // The operator starts a terminated batch again, which contradicts a cancellation: a plan has one of the two.
  maybeIntervene(random.chance(0.5) ? 'cancel' : 'terminate', 0.5);
  const addsDirectly = random.chance(0.5);
  return {
    ...{ batchId, atMs, interventions },
    rowsPerAdd: addsDirectly ? random.pick([1, 2, 5]) : undefined,
    maxAdds: addsDirectly && random.chance(0.4) ? (random.pick([0, 1, 2]) ?? 0) : NO_LIMIT,
  };
}

/** Whether the batch starts the payout, and not a caller. */
export function isOfBatch({ batches }: Plan, { batch }: PlannedPayout): boolean {
  return batches.some(({ batchId }) => batchId === batch);
}

export class Batches implements Feature {
  private readonly scene: Scene;
  private readonly starter: Starter;
  private readonly batches: readonly PlannedBatch[];
  private readonly started = new Set<string>();

  constructor(scene: Scene) {
    this.scene = scene;
    const { client, server } = scene.system;
    this.starter = new Starter({ client, environment: 'test' });
    this.batches = scene.plan.batches.filter((batch) => this.rowsOf(batch).length > 0);
    server.onChange.push(({ workflowId }) => {
      const batch = this.batches.find((one) => idOf(one) === workflowId);
      if (batch && this.scene.hasCompleted(idOf(batch))) this.dropUnstartedRows(batch);
    });
  }

  begin(): void {
    const { world } = this.scene.system;
    for (const batch of this.batches) {
      world.spawn(this.start(batch));
      for (const intervention of batch.interventions) world.spawn(this.intervene(batch, intervention));
    }
  }

  unfinished(): string[] {
    return this.batches
      .filter((batch) => !this.scene.hasCompleted(idOf(batch)))
      .map((batch) => {
        const run = this.scene.system.server.latest(idOf(batch));
        return `batch ${batch.batchId} (${run ? `${run.entries.length} events` : 'never started'})`;
      });
  }

  /** Starts a batch again, with the same rows, if it does not run or misses rows. */
  inspect(): void {
    const { world } = this.scene.system;
    for (const batch of this.batches)
      if (this.started.has(batch.batchId) && !this.scene.hasCompleted(idOf(batch)))
        world.spawn(this.resumeBatch(batch));
  }

  restored(): void {
    for (const batch of this.batches) if (this.scene.hasCompleted(idOf(batch))) this.dropUnstartedRows(batch);
  }

  async check(): Promise<void> {
    const { world } = this.scene.system;
    for (const batch of this.batches) {
      if (!this.scene.hasCompleted(idOf(batch))) continue;
      const result = await world.finish(this.starter.result(batch));
      for (const problem of this.problemsIn(batch, result))
        world.violation(`batch ${batch.batchId}: ${problem}: ${JSON.stringify(result)}`);
    }
  }

  // ---- people

  private async start(batch: PlannedBatch): Promise<void> {
    const { scene } = this;
    await scene.system.world.sleep(batch.atMs);
    this.started.add(batch.batchId);
    if (batch.rowsPerAdd !== undefined) await this.addRowsDirectly(batch, batch.rowsPerAdd);
    else await scene.retryWhileUnavailable(`batch ${batch.batchId}`, () => this.startBatch(batch));
  }

  private async startBatch(batch: PlannedBatch): Promise<void> {
    try {
      await this.starter.start({ batchId: batch.batchId, payouts: this.requestsOf(batch) });
    } catch (error) {
      // The batch was canceled in the meantime.
      if (!(error instanceof WorkflowUpdateFailedError)) throw error;
    }
  }

  /** As a caller with another SDK does. */
  private async addRowsDirectly(batch: PlannedBatch, rowsPerAdd: number): Promise<void> {
    const { scene } = this;
    const { client } = scene.system;
    const rows = this.requestsOf(batch);
    const { batchId } = batch;
    const handle = await scene.retryWhileUnavailable(`batch ${batchId}`, () =>
      client.workflow.start<typeof payoutBatch>('payoutBatch', {
        ...{ taskQueue: PAYOUTS_TASK_QUEUE, workflowId: idOf(batch) },
        ...{ workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY', workflowIdConflictPolicy: 'USE_EXISTING' },
        args: [{ app: 'default', batchId, count: rows.length }],
        memo: { environment: 'test', rejectDuplicate: new Date(scene.system.world.wallMs()).toISOString() },
      }),
    );
    if (!handle) return;
    for (let adds = 0, offset = 0; offset < rows.length && adds < batch.maxAdds; adds += 1) {
      const payouts = rows.slice(offset, offset + rowsPerAdd);
      const slice = offset;
      await scene.ignoreExpectedErrors(`batch ${batchId}`, () =>
        handle.executeUpdate(addUpdate, { args: [{ offset: slice, payouts }] }),
      );
      offset += rowsPerAdd;
    }
  }

  private async resumeBatch(batch: PlannedBatch): Promise<void> {
    const { scene } = this;
    const about = `batch ${batch.batchId}`;
    const isRunning = scene.system.server.latest(idOf(batch))?.isRunning ?? false;
    if (isRunning) {
      const state = await scene.ignoreExpectedErrors(about, () => this.starter.state(batch));
      if (!state || state.canceled || state.missing.length === 0) return;
    }
    scene.recordAction('batch', about, 'resume');
    await scene.ignoreExpectedErrors(about, () => this.startBatch(batch));
  }

  private async intervene(batch: PlannedBatch, { kind, atMs }: BatchIntervention): Promise<void> {
    const { scene } = this;
    const { world, client, server } = scene.system;
    await world.sleep(atMs);
    const about = `batch ${batch.batchId}`;
    if (!server.latest(idOf(batch))) return;
    scene.recordAction('batch', about, kind);
    if (kind === 'start-again') await scene.ignoreExpectedErrors(about, () => this.startBatch(batch));
    else if (kind === 'start-other-rows') await this.startOtherRows(batch);
    else if (kind === 'cancel') await scene.ignoreExpectedErrors(about, () => this.starter.cancel(batch));
    else {
      const isPart = (workflowId: string) =>
        workflowId.startsWith(`payout-batch-part:default:${batch.batchId}:`);
      const part = server.runs.find((run) => run.isRunning && isPart(run.workflowId));
      const target = kind === 'terminate' ? idOf(batch) : part?.workflowId;
      if (target)
        await scene.ignoreExpectedErrors(about, () =>
          client.workflow.getHandle(target).terminate('by an operator'),
        );
    }
  }

  private async startOtherRows(batch: PlannedBatch): Promise<void> {
    const { scene } = this;
    // A terminated batch may be started again with any rows: each row is compared with its payout.
    if (batch.interventions.some(({ kind }) => kind === 'terminate')) return;
    const about = `batch ${batch.batchId}`;
    const state = await scene.ignoreExpectedErrors(about, () => this.starter.state(batch));
    // Missing rows may still be added with any content.
    if (!state || state.missing.length > 0) return;
    const [first, ...rest] = this.requestsOf(batch);
    const other = { ...first, instructedAmount: { currency: 'CNY', amount: '7.77' } };
    await scene.expectConflict(about, () =>
      this.starter.start({ batchId: batch.batchId, payouts: [other, ...rest] }),
    );
  }

  // ---- the oracle

  private problemsIn(batch: PlannedBatch, result: BatchResult): string[] {
    const { count, outcomes, started, joined } = result;
    const rows = this.rowsOf(batch);
    const ended = new Map(OUTCOMES.map((outcome) => [outcome, 0]));
    for (const { number } of rows) {
      const outcome = this.scene.results.get(number)?.outcome;
      if (outcome) ended.set(outcome, (ended.get(outcome) ?? 0) + 1);
    }
    const withoutOutcome = outcomes.stopped + outcomes.notStarted;
    const differing = (by: (counted: number, actual: number) => boolean): PayoutOutcome[] =>
      OUTCOMES.filter((outcome) => by(outcomes[outcome], ended.get(outcome) ?? 0));
    const isDeleted = ({ number }: PlannedPayout) => this.scene.deleted.has(number);
    const missing = rows.filter(
      (row) => !isStarted(this.scene.system.server, row.number) && !isDeleted(row),
    ).length;
    const countedTwice = started + joined + withoutOutcome - count;
    const mayBeJoined = rows.filter(({ interventions }) =>
      interventions.some(({ kind }) => kind === 'start-again'),
    );
    const isCancelled = batch.interventions.some(({ kind }) => kind === 'cancel');
    const isStopped = batch.interventions.some(({ kind }) => kind.startsWith('terminate'));
    const isRestored = this.scene.plan.restored !== undefined;
    const isReopened = rows.some(({ number }) => this.scene.reopened.has(number));
    return [
      count !== rows.length && `has a wrong count of its ${rows.length} rows`,
      countEndedRows(result) !== count && 'not every row has ended',
      outcomes.conflict + outcomes.invalid > 0 && 'valid rows count as conflicts or invalid',
      !isReopened &&
        differing((counted, actual) => counted > actual).length > 0 &&
        'an outcome has a higher count than the payouts have',
      !isReopened &&
        withoutOutcome === 0 &&
        differing((counted, actual) => counted !== actual).length > 0 &&
        'the counts differ from the outcomes of the payouts',
      outcomes.notStarted > 0 && !isCancelled && 'rows were not started, although the batch was not canceled',
      outcomes.stopped > 0 &&
        !isStopped &&
        !isRestored &&
        'rows count as stopped, although no part was stopped',
      missing > withoutOutcome && `${missing} rows have no payout`,
      // A row counts as started, then as stopped, if its payout's histories are deleted meanwhile.
      (countedTwice < 0 || countedTwice > Math.min(outcomes.stopped, rows.filter(isDeleted).length)) &&
        !isRestored &&
        'rows were started twice or are not counted',
      joined > mayBeJoined.length &&
        !isRestored &&
        'rows count as joined, although only the batch started them',
    ].filter((problem) => typeof problem === 'string');
  }

  /** A completed batch starts no more rows. */
  private dropUnstartedRows(batch: PlannedBatch): void {
    const { server } = this.scene.system;
    for (const { number } of this.rowsOf(batch))
      if (!isStarted(server, number)) this.scene.open.delete(payoutId(number));
  }

  private rowsOf({ batchId }: PlannedBatch): PlannedPayout[] {
    return this.scene.plan.payouts.filter(({ batch }) => batch === batchId);
  }

  private requestsOf(batch: PlannedBatch) {
    return this.rowsOf(batch).map(({ request }) => request);
  }
}

function idOf({ batchId }: PlannedBatch): string {
  return payoutBatchWorkflowId('default', batchId);
}
