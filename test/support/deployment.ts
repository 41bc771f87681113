/** A worker deployment of real worker processes, each of a version, on the world of a test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isGrpcServiceError } from '@temporalio/client';
import { expect, inject } from 'vitest';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { workerVersions } from '../../src/temporal/worker-versions.ts';
import { cli } from './cli.ts';
import { eventually } from './eventually.ts';
import { createsOf, debitsOf } from './ledger.ts';
import { modifiedBundle } from './modified-version/bundle.ts';
import type { OpenPayout } from './open-payouts.ts';
import type { PayoutWorld } from './payout-world.ts';
import { type OwnProcess, startProgram } from './processes.ts';
import { releasedCheckout } from './released-checkout.ts';

const OTHER_VERSION = fileURLToPath(new URL('./other-version/interceptor.ts', import.meta.url));
/** gRPC's NOT_FOUND and FAILED_PRECONDITION: Temporal has not seen the version poll yet. */
const NOT_YET: readonly number[] = [5, 9];

/** A message arrived while the task completed the run: Temporal makes another task of both. */
const UNHANDLED_COMMAND = 1;

export const DEPLOYMENT = 'payouts-test';

/**
 * `released`: the code of the last release, or this code in a copy without the repository's history. `next`: our code, in
 * which payouts begin with another command.
 */
export type Code = 'released' | 'ours' | 'next';

export class Deployment {
  private readonly world: PayoutWorld;
  private readonly folder = mkdtempSync(join(tmpdir(), 'payouts-versions-'));
  private readonly running = new Map<string, OwnProcess>();
  private readonly started: OwnProcess[] = [];
  private nextBundle: string | undefined;

  constructor(world: PayoutWorld) {
    this.world = world;
  }

  /** Starts a worker process of the version. */
  async start(buildId: string, code: Code): Promise<void> {
    const released = code === 'released' ? releasedCheckout() : undefined;
    const version = { PAYOUTS_DEPLOYMENT: DEPLOYMENT, PAYOUTS_BUILD_ID: buildId };
    const ours = code === 'next' ? await this.bundleOfNext() : inject('workflowBundle');
    const environment = {
      ...{ ...this.world.workerEnvironment, ...version },
      PAYOUTS_WORKFLOW_BUNDLE: released?.workflowBundle ?? ours,
    };
    const program = 'src/workers/main.ts';
    const worker = await startProgram(
      released === undefined ? program : { folder: released.folder, args: ['--import', 'tsx', program] },
      environment,
      /worker ready/,
    );
    this.started.push(worker);
    this.running.set(buildId, worker);
  }

  /** SIGTERM. Returns the exit code. */
  async stop(buildId: string): Promise<number | null | undefined> {
    const code = await this.running.get(buildId)?.stop('SIGTERM');
    this.running.delete(buildId);
    return code;
  }

  /** All new payouts start on the version from now on. */
  async setCurrent(buildId: string): Promise<void> {
    const { workflowService, namespace } = this.service;
    await retried(() =>
      workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName: DEPLOYMENT, buildId }),
    );
    await this.untilRouted(({ currentDeploymentVersion }) => currentDeploymentVersion?.buildId === buildId);
  }

  /** A share of the new payouts starts on the version from now on. */
  async setRamp(buildId: string, percentage: number): Promise<void> {
    const { workflowService, namespace } = this.service;
    await retried(() =>
      workflowService.setWorkerDeploymentRampingVersion({
        ...{ namespace, deploymentName: DEPLOYMENT, buildId, percentage },
      }),
    );
    await this.untilRouted((info) => (info.rampingVersionPercentage ?? 0) === percentage);
  }

  async close(): Promise<void> {
    await Promise.all(this.started.map((worker) => worker.stop('SIGKILL')));
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The version of the payout's newest run. */
  async versionOf(ref: PayoutRef): Promise<string | undefined> {
    const { raw } = await this.world.payouts.handle(ref).describe();
    const { versioningInfo } = raw.workflowExecutionInfo ?? {};
    return versioningInfo?.deploymentVersion?.buildId ?? undefined;
  }

  /** The open payouts on a version, as `doctor` counts them. */
  async openOn(buildId: string): Promise<number | undefined> {
    const { versions } = await workerVersions(this.world.client);
    return versions.find((version) => version.buildId === buildId)?.openPayouts;
  }

  /** What `doctor` says about versions. */
  async doctor(): Promise<string> {
    const { stdout } = await cli(this.world.workerEnvironment, ['doctor']);
    return /worker versions: .*(?:\n {7}.*)?/.exec(stdout)?.[0] ?? stdout;
  }

  /** Lets all payouts end, and checks their outcomes and that no workflow task has failed. */
  async expectEnds(opened: readonly OpenPayout[]): Promise<void> {
    for (const { finish } of opened) await finish();
    const ends = [];
    for (const { ref, phase } of opened) {
      const { outcome } = await this.world.payouts.result(ref);
      const creates = createsOf(this.world, ref).length;
      ends.push({ phase, outcome, creates, debits: debitsOf(this.world, ref) });
    }
    expect(ends).toEqual(
      opened.map(({ phase, outcome, creates }) => ({ phase, outcome, creates, debits: creates })),
    );
    expect(await this.failedTasks()).toEqual([]);
  }

  /** Failed workflow tasks of all workflows. */
  private async failedTasks(): Promise<string[]> {
    const { client } = this.world;
    const failed: string[] = [];
    for await (const { workflowId, runId, type } of client.workflow.list()) {
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      for (const { workflowTaskFailedEventAttributes: task } of events ?? [])
        if (task && task.cause !== UNHANDLED_COMMAND)
          failed.push(`${type} ${workflowId}: ${task.failure?.message}`);
    }
    return failed;
  }

  private get service() {
    const { workflowService, options } = this.world.client;
    return { workflowService, namespace: options.namespace };
  }

  private async untilRouted(isRouted: (info: Routing) => boolean): Promise<void> {
    const { workflowService, namespace } = this.service;
    const request = { namespace, taskQueue: { name: PAYOUTS_TASK_QUEUE }, taskQueueType: 1 };
    await eventually(async () => {
      const { versioningInfo } = await workflowService.describeTaskQueue(request);
      return isRouted(versioningInfo ?? {}) || undefined;
    });
  }

  private async bundleOfNext(): Promise<string> {
    if (this.nextBundle === undefined) {
      this.nextBundle = join(this.folder, 'workflows.js');
      writeFileSync(this.nextBundle, await modifiedBundle(OTHER_VERSION));
    }
    return this.nextBundle;
  }
}

interface Routing {
  currentDeploymentVersion?: { buildId?: string | null } | null;
  rampingVersionPercentage?: number | null;
}

async function retried<T>(call: () => Promise<T>): Promise<T> {
  return eventually(async () => {
    try {
      return await call();
    } catch (error) {
      if (isGrpcServiceError(error) && NOT_YET.includes(error.code)) return undefined;
      throw error;
    }
  });
}
