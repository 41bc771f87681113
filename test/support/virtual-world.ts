/**
 * The environment of one test file in virtual time: a simulated Temporal, one worker process and the simulator of the
 * provider, without a socket. Time passes only while a test waits for something, as fast as the machine allows.
 */
import { Client } from '@temporalio/client';
import { inject } from 'vitest';
import type { SettingsChange } from '../../simulator/index.ts';
import { Payouts } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import type { ApprovalPolicy } from '../../src/contract/rate-limit.ts';
import { clientConverter } from '../../src/encryption/payload-codec.ts';
import type { Clock, Runtime } from '../../src/runtime/runtime.ts';
import { UnsettledError, type World } from '../../worlds/engine/world.ts';
import { firstSettings } from '../../worlds/payouts/first-settings.ts';
import {
  REQUIRED_ENV,
  PayoutWorld as SimulatedWorld,
  type PayoutWorldOptions as SimulatedWorldOptions,
} from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';
import { StandingTransport } from './event-endpoint.ts';
import { virtualPauses } from './eventually.ts';
import { startTemporalFront, type TemporalFront } from './temporal-front.ts';
import { QUICK, TestWorld } from './test-world.ts';
import { setVirtualClock } from './virtual-clocks.ts';

/** As the tests with a real server run: payloads are plain unless a test gives keys. */
const WITHOUT_KEYS: Environment = {
  PAYMENTS_BASE_URL: 'http://127.0.0.1:9',
  PAYMENTS_AUTH_URL: 'http://127.0.0.1:9',
  PAYOUTS_ENCRYPTION_KEYS: '',
  PAYOUTS_TOKEN_KEYS: '',
  PAYOUTS_AUTHORIZATION_KEYS: '',
};
const DRIVE_LIMIT_MS = 400 * 24 * 3_600_000;
const SHUTDOWN_LIMIT_MS = 60_000;
const QUERY_ATTEMPTS = 30;

export interface VirtualWorldOptions {
  env?: Environment;
  /** Settings of the provider. */
  settings?: SettingsChange;
  /** Without workers, nothing runs until `startWorkers`. */
  idle?: boolean;
  workers?: number;
  /** The workers keep the Schedules. Without them, a payout that was stopped waits for `reconcile`. */
  schedules?: boolean;
  seed?: number;
  /** The conditions of each call to the provider. */
  trip?: SimulatedWorldOptions['trip'];
  /** Of every application. Null: nobody has set the shared settings. */
  approvals?: ApprovalPolicy | null;
}

let loaded: Promise<Workflows> | undefined;

/** The product's. */
export function productWorkflows(): Promise<Workflows> {
  loaded ??= loadWorkflows(inject('workflowBundle'));
  return loaded;
}

export class VirtualWorld extends TestWorld {
  readonly namespace = 'default';
  readonly system: SimulatedWorld;
  readonly client: Client;
  readonly payouts: Payouts;
  readonly clock: Clock;
  private readonly front: TemporalFront;
  private env: Environment;
  private readonly driver: Driver;
  private readonly pause = (ms: number) => this.driver.drive(this.system.world.sleep(ms));

  private constructor(workflows: Workflows, options: VirtualWorldOptions, front: TemporalFront) {
    super();
    this.front = front;
    this.env = {
      ...REQUIRED_ENV,
      ...QUICK,
      ...WITHOUT_KEYS,
      PAYMENTS_CALLS_PER_SECOND: '500',
      ...options.env,
    };
    this.system = new SimulatedWorld({
      workflows,
      seed: options.seed ?? 1,
      workers: options.workers ?? 1,
      settings: { callsPerSecond: 1_000, ...options.settings },
      env: this.env,
      startsAt: Date.now(),
      idle: options.idle,
      ...(options.trip && { trip: options.trip }),
      shared: options.approvals === null ? null : firstSettings(new Date().toISOString(), options.approvals),
      eventTransport: (world) => new StandingTransport(world),
      withoutSchedules: !options.schedules,
    });
    this.system.service.queryAttempts = QUERY_ATTEMPTS;
    this.driver = new Driver(this.system.world);
    this.clock = drivenClock(this.system.world, this.driver);
    this.client = this.speaking(this.env['PAYOUTS_ENCRYPTION_KEYS']);
    this.payouts = new Payouts({ client: this.client, environment: 'test', clock: this.clock });
    // As in the world of a real server: notifications go where a test says.
    this.simulator.control.changeApp('demo-app', { notifyUrl: null });
    virtualPauses.add(this.pause);
  }

  static async start(options: VirtualWorldOptions = {}): Promise<VirtualWorld> {
    const workflows = await productWorkflows();
    const front = await startTemporalFront((...request) =>
      world.drive(world.system.service.outsideRequest(...request)),
    );
    const world = new VirtualWorld(workflows, options, front);
    return world;
  }

  get simulator() {
    return this.system.provider;
  }

  async startWorkers(change: Environment = {}): Promise<void> {
    this.env = { ...this.env, ...change };
    this.system.configure(this.env);
    for (const process of this.system.processes) process.start();
  }

  /** Shuts down gracefully. */
  async stopWorkers(): Promise<void> {
    const { processes, world } = this.system;
    for (const process of processes) process.stop();
    const hasStopped = () => processes.every(({ life }) => life === undefined);
    for (let waitedMs = 0; !hasStopped(); waitedMs += 10) {
      if (waitedMs > SHUTDOWN_LIMIT_MS) throw new Error('the workers do not stop');
      await this.driver.drive(world.sleep(10));
    }
  }

  speaking(keys: string | undefined): Client {
    const ring = encryptionKeys({ ...this.env, PAYOUTS_ENCRYPTION_KEYS: keys }).payloads;
    const { service, world } = this.system;
    const client = new Client({
      connection: service.outsideConnection((work) => this.driver.drive(work)),
      namespace: this.namespace,
      dataConverter: clientConverter(ring, world.randomness()),
      interceptors: service.interceptors(this.clock),
    });
    setVirtualClock(client, { nowMs: () => world.nowMs(), wallMs: () => world.wallMs() });
    return client;
  }

  /** For what runs in the test's process. */
  get runtime(): Runtime {
    return { clock: this.clock, random: this.system.world.randomness() };
  }

  /** The environment for a program that runs as a process of its own. */
  get workerEnvironment(): Environment {
    return { ...this.env, TEMPORAL_ADDRESS: this.front.address, TEMPORAL_NAMESPACE: this.namespace };
  }

  /** Lets virtual time pass. */
  async pass(ms: number): Promise<void> {
    await this.pause(ms);
  }

  /** Runs the world while `work` is open. */
  drive<T>(work: Promise<T>): Promise<T> {
    return this.driver.drive(work);
  }

  async stop(): Promise<void> {
    virtualPauses.delete(this.pause);
    await this.front.close();
    for (const process of this.system.processes) process.kill();
    await this.driver.drive(this.system.world.sleep(1));
  }
}

/** Runs the world while there is open work. All open work shares one run, because events run one at a time. */
class Driver {
  private readonly world: World;
  private open = 0;
  private isRunning = false;
  private readonly stuck = new Set<(error: unknown) => void>();

  constructor(world: World) {
    this.world = world;
  }

  async drive<T>(work: Promise<T>): Promise<T> {
    this.open += 1;
    let fail: (error: unknown) => void = () => undefined;
    const isStuck = new Promise<never>((_, reject) => {
      fail = reject;
    });
    this.stuck.add(fail);
    if (!this.isRunning) void this.run();
    try {
      return await Promise.race([work, isStuck]);
    } finally {
      this.stuck.delete(fail);
      this.open -= 1;
    }
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    // Work that comes after the last look starts another run.
    const done = () => {
      this.isRunning = this.open > 0;
      return !this.isRunning;
    };
    try {
      const ending = await this.world.run({ done, withinMs: DRIVE_LIMIT_MS });
      if (ending === 'done') return;
      this.end(new UnsettledError(ending, DRIVE_LIMIT_MS));
    } catch (error) {
      this.end(error);
    }
  }

  private end(error: unknown): void {
    this.isRunning = false;
    for (const fail of [...this.stuck]) fail(error);
  }
}

/** The world's clock for code outside of its processes: a timer drives the world until it runs. */
function drivenClock(world: World, driver: Driver): Clock {
  return {
    nowMs: () => world.nowMs(),
    wallMs: () => world.wallMs(),
    after: (ms, run) => {
      let end = () => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      const cancel = world.after(ms, () => {
        end();
        run();
      });
      void driver.drive(ended);
      return () => {
        cancel();
        end();
      };
    },
  };
}
