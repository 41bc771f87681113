/**
 * The production topology as processes on loopback ports, without Docker: PostgreSQL, Temporal with a process for each role,
 * the Temporal UI with the codec server, several workers and API servers, and the simulator. Keys and certificates are
 * made for it, and every connection to Temporal uses mutual TLS. It never outlives the process that started it.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import { makeKeys, TEMPORAL_SERVER_NAME } from '../deploy/keys.mjs';
import { encryptionKeys } from '../src/config/keys.ts';
import { dataConverter } from '../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../src/runtime/process.ts';
import { clientInterceptors } from '../src/temporal/queries.ts';
import { Child, startOnPorts } from './child-process.ts';
import { freePorts, loopback } from './dev-server/ports.ts';
import { createsNamespace } from './dev-server/readiness.ts';
import { setFirstSettings } from './first-settings.ts';
import { bundledWorkflows, compilePrograms } from './programs.ts';
import { findTemporalServer, findTemporalUi } from './setup/go-programs.ts';
import { PORT_VARIABLES, type Role } from './temporal-server/environment.ts';
import { Postgres } from './temporal-server/postgres.ts';
import { createSchemas } from './temporal-server/schemas.ts';
import { Balancer } from './topology/balancer.ts';
import * as processes from './topology/processes.ts';
import { clientSettings, OUR_PROGRAMS, TEMPORAL_NODES } from './topology/settings.ts';

export interface TopologyOptions {
  say: (line: string) => void;
  /** Added to the variables of the workers. */
  workerEnvironment?: NodeJS.ProcessEnv;
  /** The folder of the database. Absent: in the folder of the topology. */
  databaseFolder?: string;
}

export async function startTopology(options: TopologyOptions): Promise<Topology> {
  const topology = await Topology.create(options);
  try {
    await topology.start();
    return topology;
  } catch (error) {
    await topology.stop();
    throw error;
  }
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

const ROLES: readonly Role[] = ['history', 'matching', 'frontend', 'worker'];

export class Topology {
  /** The database that Temporal uses. A standby takes its place when it is promoted. */
  database: Postgres;
  readonly places: processes.Places;
  /** What Temporal sees of the database, so that a standby can take over. */
  readonly databaseAddress: Balancer;
  /** Temporal's processes. */
  readonly nodes: Child[] = [];
  /** Ours, and the Temporal UI. */
  readonly programs: Child[] = [];
  private readonly options: TopologyOptions;
  private readonly frontends: Balancer;
  private readonly api: Balancer;
  private readonly frontendPorts: number[] = [];
  private readonly apiPorts: readonly number[];

  static async create(options: TopologyOptions): Promise<Topology> {
    const folder = mkdtempSync(join(tmpdir(), 'payouts-topology-'));
    // The user that runs PostgreSQL needs access to its subfolder.
    chmodSync(folder, 0o711);
    const keysFolder = join(folder, 'keys');
    makeKeys(keysFolder);
    await compilePrograms();
    const [first = 0, address = 0, temporal = 0, simulator = 0, api = 0, codec = 0, ui = 0, ...apiPorts] =
      await freePorts(7 + OUR_PROGRAMS.api);
    const places = {
      folder,
      keysFolder,
      databasePort: address,
      temporalAddress: loopback(temporal),
      simulatorPort: simulator,
      apiUrl: `http://${loopback(api)}`,
      codecPort: codec,
      uiPort: ui,
      appSecret: newSecret(),
      notificationSecret: newSecret(),
      workflowBundle: await bundledWorkflows(),
    };
    const database = new Postgres(options.databaseFolder ?? join(folder, 'postgres'), first);
    return new Topology(options, places, database, { temporal, api, apiPorts });
  }

  private constructor(
    options: TopologyOptions,
    places: processes.Places,
    database: Postgres,
    ports: { temporal: number; api: number; apiPorts: readonly number[] },
  ) {
    this.options = options;
    this.places = places;
    this.database = database;
    this.apiPorts = ports.apiPorts;
    this.databaseAddress = new Balancer(places.databasePort, () => [this.database.port]);
    this.frontends = new Balancer(ports.temporal, () => this.frontendPorts);
    this.api = new Balancer(ports.api, () => this.apiPorts);
  }

  get simulatorUrl(): string {
    return `http://${loopback(this.places.simulatorPort)}`;
  }

  get codecUrl(): string {
    return `http://${loopback(this.places.codecPort)}`;
  }

  get uiUrl(): string {
    return `http://${loopback(this.places.uiPort)}`;
  }

  /** The variables with which another program connects to Temporal. */
  get clientEnvironment(): Record<string, string> {
    const folder = join(this.places.keysFolder, 'operator');
    return {
      ...clientSettings(folder),
      TEMPORAL_ADDRESS: this.places.temporalAddress,
      PAYMENTS_ENVIRONMENT: 'test',
      PAYOUTS_ENCRYPTION_KEYS: `file:${folder}/payouts-encryption-keys`,
    };
  }

  child(name: string): Child {
    const child = [...this.nodes, ...this.programs].find((one) => one.name === name);
    if (child === undefined) throw new Error(`the topology has no process ${name}`);
    return child;
  }

  async start(): Promise<void> {
    const { say } = this.options;
    const programs = await findTemporalServer();
    const ui = await findTemporalUi();
    say('starting PostgreSQL …');
    await this.databaseAddress.start();
    if (await this.database.start()) createSchemas(programs.sqlTool, this.database.port);
    for (const role of ROLES) await this.startNodes(programs.server, role);
    await this.frontends.start();
    while (!(await createsNamespace(this.connecting, 'default'))) {
      if (this.nodes.some((node) => !node.isRunning))
        throw new Error(`Temporal did not start; see ${this.places.folder}`);
      await sleep(100);
    }
    await this.startOurs(ui);
  }

  async connectClient(): Promise<Client> {
    const { payloads } = encryptionKeys(this.clientEnvironment);
    return new Client({
      connection: await Connection.connect(this.connecting),
      dataConverter: dataConverter(payloads, PROCESS_RUNTIME.random),
      interceptors: clientInterceptors(PROCESS_RUNTIME.clock),
    });
  }

  /** Stops everything in reverse order, and deletes all files. */
  async stop(): Promise<void> {
    for (const child of this.programs.toReversed()) await child.stop();
    this.api.stop();
    this.frontends.stop();
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.database.stop();
    this.databaseAddress.stop();
    rmSync(this.places.folder, { recursive: true, force: true });
  }

  /** One after the other: two that start at the same instant may both create the metadata of the cluster. */
  private async startNodes(server: string, role: Role): Promise<void> {
    for (let number = 1; number <= TEMPORAL_NODES[role]; number += 1) {
      this.options.say(`starting Temporal ${role} ${number} …`);
      const { child, ports } = await startOnPorts(undefined, PORT_VARIABLES[role].length, (free) =>
        processes.nodeCommand(this.places, server, role, number, free),
      );
      this.nodes.push(child);
      if (role === 'frontend') this.frontendPorts.push(...ports.slice(0, 1));
    }
  }

  private async startOurs(ui: string): Promise<void> {
    const { places } = this;
    const { say, workerEnvironment } = this.options;
    const start = async (command: Child['command']) => {
      say(`starting ${command.name} …`);
      const child = new Child(command);
      this.programs.push(child);
      await child.start();
    };
    await this.api.start();
    await start(processes.simulatorCommand(places));
    for (let number = 1; number <= OUR_PROGRAMS.worker; number += 1) {
      say(`starting worker-${number} …`);
      const { child } = await startOnPorts(undefined, 1, ([port = 0]) => {
        const command = processes.workerCommand(places, number, port);
        return { ...command, env: { ...command.env, ...workerEnvironment } };
      });
      this.programs.push(child);
    }
    await setFirstSettings(await this.connectClient(), processes.workerCommand(places, 1, 0).env);
    for (const [at, port] of this.apiPorts.entries()) await start(processes.apiCommand(places, at + 1, port));
    await start(processes.codecCommand(places));
    await start(processes.uiCommand(places, ui));
  }

  private get connecting(): ConnectionOptions {
    const read = (file: string) => readFileSync(join(this.places.keysFolder, 'operator', file));
    return {
      address: this.places.temporalAddress,
      tls: {
        serverNameOverride: TEMPORAL_SERVER_NAME,
        serverRootCACertificate: read('ca.crt'),
        clientCertPair: { crt: read('tls.crt'), key: read('tls.key') },
      },
    };
  }
}
