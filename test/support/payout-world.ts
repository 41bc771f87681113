/**
 * The environment of one test file: its own namespace on the shared Temporal server, a simulator on a real socket, and workers.
 * Everything started is stopped, whatever the test did.
 */
import { randomUUID } from 'node:crypto';
import { Client, Connection, type ConnectionLike } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { inject } from 'vitest';
import { setFirstSettings } from '../../scripts/first-settings.ts';
import { type SettingsChange, type Simulator, startSimulator } from '../../simulator/index.ts';
import { Payouts } from '../../src/client/payouts.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import type { ApprovalPolicy } from '../../src/contract/rate-limit.ts';
import { clientConverter } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { registerSearchAttributes } from '../../src/temporal/namespace.ts';
import type { Runnable } from '../../src/workers/activity-worker.ts';
import { keepRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { createWorkers, runWorkers } from '../../src/workers/worker.ts';
import { workflowBundle } from '../../src/workers/workflow-bundle.ts';
import { eventually } from './eventually.ts';
import { patientInterceptors } from './patient-client.ts';
import { QUICK, TestWorld } from './test-world.ts';

// Tests provoke thousands of warnings, and assert no log line.
Runtime.install({ logger: new DefaultLogger('ERROR') });

/** Never called. By imports, `npm run test:changed` finds the tests that a change affects. */
export const bundledCode = () => import('../../src/workflows/index.ts');

export interface WorldOptions {
  env?: Environment;
  settings?: SettingsChange;
  /** A Temporal server other than the shared one. */
  address?: string;
  /** Without workers, nothing runs until `startWorkers`. */
  idle?: boolean;
  /** Of every application. Null: nobody has set the shared settings. */
  approvals?: ApprovalPolicy | null;
}

export class PayoutWorld extends TestWorld {
  readonly namespace: string;
  readonly address: string;
  readonly simulator: Simulator;
  readonly client: Client;
  readonly payouts: Payouts;
  readonly clock = PROCESS_RUNTIME.clock;
  private env: Environment;
  private readonly approvals: ApprovalPolicy | null | undefined;
  readonly native: NativeConnection;
  private running: { workers: Runnable[]; done: Promise<unknown>; stopKeeping: () => void } | undefined;

  private constructor(parts: {
    namespace: string;
    address: string;
    simulator: Simulator;
    client: Client;
    native: NativeConnection;
    env: Environment;
    approvals: ApprovalPolicy | null | undefined;
  }) {
    super();
    this.namespace = parts.namespace;
    this.address = parts.address;
    this.simulator = parts.simulator;
    this.client = parts.client;
    this.native = parts.native;
    this.env = parts.env;
    this.approvals = parts.approvals;
    const searchKeys = encryptionKeys(parts.env).search;
    this.payouts = new Payouts({ client: parts.client, environment: 'test', searchKeys });
  }

  static async start(options: WorldOptions = {}): Promise<PayoutWorld> {
    const address = options.address ?? inject('temporalAddress');
    const namespace = `world-${randomUUID()}`;
    const connection = await Connection.connect({ address });
    await createNamespace(connection, namespace);
    const native = await NativeConnection.connect({ address });
    await registerSearchAttributes(native, namespace);
    const simulator = await startSimulator({ settings: { callsPerSecond: 1_000, ...options.settings } });
    const env: Environment = {
      ...QUICK,
      PAYMENTS_BASE_URL: simulator.url,
      PAYMENTS_AUTH_URL: simulator.url,
      PAYMENTS_CALLS_PER_SECOND: '500',
      PAYOUTS_WORKFLOW_BUNDLE: inject('workflowBundle'),
      ...options.env,
    };
    const keys = encryptionKeys(env).payloads;
    const client = new Client({
      connection,
      namespace,
      dataConverter: clientConverter(keys, PROCESS_RUNTIME.random),
      interceptors: patientInterceptors(),
    });
    // A server of several parts learns the search attributes of a new namespace only after some seconds.
    await eventually(() => client.workflow.count("PayoutApp = 'any'").catch(() => undefined));
    const { approvals } = options;
    const world = new PayoutWorld({ namespace, address, simulator, client, native, env, approvals });
    if (approvals !== null) await setFirstSettings(client, env, approvals);
    if (!options.idle) await world.startWorkers();
    return world;
  }

  /** The environment for a worker process of this world. */
  get workerEnvironment(): Environment {
    return { ...this.env, TEMPORAL_ADDRESS: this.address, TEMPORAL_NAMESPACE: this.namespace };
  }

  async startWorkers(change: Environment = {}): Promise<void> {
    this.env = { ...this.env, ...change };
    const config = workerConfig(this.env);
    const client = this.speaking(this.env['PAYOUTS_ENCRYPTION_KEYS']);
    // Other applications may be new. With other keys, this client may not read the settings that are set.
    if (this.approvals !== null && !('PAYOUTS_ENCRYPTION_KEYS' in change))
      await setFirstSettings(client, this.env, this.approvals);
    const created = await createWorkers({
      ...{ config, client, runtime: PROCESS_RUNTIME },
      createWorker: (options) =>
        Worker.create({ ...options, connection: this.native, namespace: this.namespace }),
      workflowBundle: await workflowBundle(config.env.PAYOUTS_WORKFLOW_BUNDLE),
    });
    const workers = [created.workflows, ...created.applications];
    const done = runWorkers(created);
    this.running = {
      workers,
      done,
      stopKeeping: keepRenewals(client, config, PROCESS_RUNTIME, console),
    };
  }

  /** A client with its own payload keys; without keys it sends plain payloads. */
  speaking(keys: string | undefined): Client {
    const ring = encryptionKeys({ ...this.env, PAYOUTS_ENCRYPTION_KEYS: keys }).payloads;
    const { connection } = this.client;
    return new Client({
      connection,
      namespace: this.namespace,
      dataConverter: clientConverter(ring, PROCESS_RUNTIME.random),
      interceptors: patientInterceptors(),
    });
  }

  async stopWorkers(): Promise<void> {
    this.running?.stopKeeping();
    for (const worker of this.running?.workers ?? []) if (worker.getState() === 'RUNNING') worker.shutdown();
    await this.running?.done;
    this.running = undefined;
  }

  async stop(): Promise<void> {
    await this.stopWorkers();
    await this.simulator.close();
    await this.native.close();
    // The client's connection ends with the process of the test file: a call that is being retried would throw an unhandled
    // error on a closed connection (SDK 1.24).
  }
}

export async function createNamespace({ workflowService }: ConnectionLike, namespace: string): Promise<void> {
  await workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs('1 day'),
  });
  // The server's cache of namespaces refreshes with a delay.
  await eventually(async () => {
    try {
      await workflowService.listOpenWorkflowExecutions({ namespace });
      return true;
    } catch {
      return undefined;
    }
  });
}
