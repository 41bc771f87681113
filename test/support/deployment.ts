/** A worker deployment of real worker processes, each of a version, on the world of a test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isGrpcServiceError } from '@temporalio/client';
import { inject } from 'vitest';
import { PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { eventually } from './eventually.ts';
import { modifiedBundle } from './modified-version/bundle.ts';
import type { PayoutWorld } from './payout-world.ts';
import { type OwnProcess, startProgram } from './processes.ts';
import { releasedCheckout } from './released-checkout.ts';

const OTHER_VERSION = fileURLToPath(new URL('./other-version/interceptor.ts', import.meta.url));
/** gRPC's NOT_FOUND and FAILED_PRECONDITION: Temporal has not seen the version poll yet. */
const NOT_YET: readonly number[] = [5, 9];

export const DEPLOYMENT = 'payouts-test';

/**
 * `released`: the code of the last release, or this code in a copy without the repository's history. `next`: this code, in
 * which payouts begin with another command.
 */
export type Code = 'released' | 'next';

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
