/** A Temporal server with its database on disk, a simulator and one worker process, each of which can be killed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import { setFirstSettings } from '../../scripts/first-settings.ts';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { Payouts } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { patientInterceptors } from './patient-client.ts';
import { type OwnProcess, startProgram } from './processes.ts';
import { QUICK } from './test-world.ts';

export const DATABASE = 'temporal.db';

export class KillableStage {
  readonly folder: string;
  readonly temporal: DevServer;
  readonly simulator: Simulator;
  readonly client: Client;
  readonly payouts: Payouts;
  private readonly connection: Connection;
  private worker: OwnProcess | undefined;

  private constructor(folder: string, temporal: DevServer, simulator: Simulator, connection: Connection) {
    this.folder = folder;
    this.temporal = temporal;
    this.simulator = simulator;
    this.connection = connection;
    this.client = new Client({ connection, interceptors: patientInterceptors() });
    const { client } = this;
    this.payouts = new Payouts({ client, environment: 'test' });
  }

  static async start(): Promise<KillableStage> {
    const folder = mkdtempSync(join(tmpdir(), 'payouts-mortal-'));
    const temporal = await startDevServer({ always: true, ui: false, dbFile: join(folder, DATABASE) });
    const simulator = await startSimulator({ settings: { callsPerSecond: 1_000 } });
    const connection = await Connection.connect({ address: temporal.address });
    return new KillableStage(folder, temporal, simulator, connection);
  }

  async startWorker(env: Environment = {}): Promise<void> {
    const { temporal, simulator } = this;
    const all = {
      ...QUICK,
      PAYMENTS_BASE_URL: simulator.url,
      PAYMENTS_AUTH_URL: simulator.url,
      TEMPORAL_ADDRESS: temporal.address,
      ...env,
    };
    this.worker = await startProgram('src/workers/main.ts', all, /worker ready/);
    await setFirstSettings(this.client, all);
  }

  async killWorker(): Promise<void> {
    await this.worker?.stop('SIGKILL');
  }

  ledgerOf({ partnerOrderId }: PayoutRequest) {
    return this.simulator.control.ledgerOf(partnerOrderId);
  }

  async stop(): Promise<void> {
    await this.killWorker();
    await this.connection.close();
    await this.simulator.close();
    await this.temporal.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
