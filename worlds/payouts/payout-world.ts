/**
 * A simulated Temporal, the product's worker processes, its notification receiver and a provider, all in virtual
 * time.
 */
import type { Client } from '@temporalio/client';
import type { DataConverter, PayloadCodec } from '@temporalio/common';
import { type InProcessSimulator, type SettingsChange, simulatorInProcess } from '../../simulator/index.ts';
import { Payouts } from '../../src/client/payouts.ts';
import { SettingsChangeError, SharedSettingsOf } from '../../src/client/shared-settings.ts';
import { type WorkerConfig, workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { encryptionKeys, type Keys } from '../../src/config/keys.ts';
import { payoutWorkflowId } from '../../src/contract/ids.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import type { SharedSettings } from '../../src/contract/rate-limit.ts';
import { ClientCodec, clientConverter, dataConverter } from '../../src/encryption/payload-codec.ts';
import { parseNotification } from '../../src/payments/index.ts';
import { Receiver } from '../../src/starters/api/receiver.ts';
import type { EventTransport } from '../../src/webhooks/event-transport.ts';
import { World } from '../engine/world.ts';
import { type Life, Process } from '../process/life.ts';
import type { Trip } from '../provider/transport.ts';
import { Wiretap } from '../provider/wiretap.ts';
import type { Workflows } from '../sdk.ts';
import { activitiesIn } from '../temporal/history.ts';
import { Service } from '../temporal/rpc.ts';
import { restore, type Snapshot } from '../temporal/snapshot.ts';
import { Temporal } from '../temporal/temporal.ts';
import type { WorkflowTaskFaults } from '../temporal/workflow-tasks.ts';
import { SimulatedEndpoint, simulatedEndpoints } from './endpoint.ts';
import { firstSettings } from './first-settings.ts';
import type { PlannedEvents } from './planned.ts';
import { rememberingCodec } from './remembering-codec.ts';
import { workerProgram } from './worker-process.ts';

export interface PayoutWorldOptions {
  workflows: Workflows;
  /** The code that the processes run until `upgrade`. Default: `workflows`. */
  released?: Workflows | undefined;
  seed: number;
  workers?: number;
  hasSecondApp?: boolean;
  faults?: WorkflowTaskFaults;
  /** Settings of the provider. */
  settings?: SettingsChange;
  /** Environment of the worker processes. Missing variables have their defaults. */
  env?: Environment;
  /** The network conditions of each call. */
  trip?: (world: World, process: Process) => Trip;
  /** With endpoints that get events. */
  events?: PlannedEvents | undefined;
  /** Sends the events of a world without simulated endpoints. Default: over HTTP. */
  eventTransport?: ((world: World) => EventTransport) | undefined;
  /** Milliseconds since 1970. */
  startsAt?: number | undefined;
  /** No process starts by itself. */
  idle?: boolean | undefined;
  /** See `WorkerProcessParts`. */
  withoutSchedules?: boolean | undefined;
  /** Of every application. Null: nobody has set any. Default: Temporal has lost nothing, and no approvals. */
  shared?: SharedSettings | null | undefined;
}

export const KEYS = 'simulated:c2ltdWxhdGVkLXNpbXVsYXRlZC1zaW11bGF0ZWQtMzI=';
/** The keys after a rotation. */
export const NEXT_KEYS = 'next:bmV4dC1uZXh0LW5leHQtbmV4dC1uZXh0LW5leHQtMzI=';
/** A process that shuts down more slowly is killed. */
const SHUTDOWN_LIMIT_MS = 40_000;
/** Longer than any retry of a change whose request was delayed. */
const OPERATOR_WAITS_MS = 60_000;
export const APP_SECRET = 'demo-secret';
const NOTIFY_URL = 'http://receiver.invalid/v1/notifications/';
/** Payouts from this number on belong to the second application. */
export const SECOND_APP_FROM = 901;
const SECOND_APP = 'second';
/** The provider's `app_id` of each application. */
export const APP_IDS: Readonly<Record<string, string>> = { default: 'demo-app', [SECOND_APP]: 'second-app' };
export const REQUIRED_ENV: Environment = {
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'https://provider.invalid',
  PAYMENTS_AUTH_URL: 'https://provider.invalid',
  PAYMENTS_APP_ID: 'demo-app',
  PAYMENTS_APP_SECRET: APP_SECRET,
  PAYMENTS_CLIENT_PAIRS: 'trusted',
  PAYMENTS_REDIRECT_URI: 'https://receiver.invalid/v1/oauth/default/callback',
  PAYOUTS_TOKEN_KEYS: KEYS,
  PAYOUTS_AUTHORIZATION_KEYS: KEYS,
  PAYOUTS_ENCRYPTION_KEYS: KEYS,
};

/** The provider's applications: those that the workers serve, and the second one. */
function providerApps({ applications }: WorkerConfig) {
  const served = [...applications.values()].map(({ name, appId }) => [name, appId] as const);
  const ids = new Map([...Object.entries(APP_IDS), ...served].map(([app, appId]) => [appId, app]));
  return [...ids].map(([appId, app]) => ({ appId, appSecret: APP_SECRET, notifyUrl: NOTIFY_URL + app }));
}

export class PayoutWorld {
  readonly world: World;
  readonly server: Temporal;
  readonly service: Service;
  readonly provider: InProcessSimulator;
  readonly wiretap: Wiretap;
  readonly processes: readonly Process[];
  readonly client: Client;
  readonly converter: DataConverter;
  readonly payouts: Payouts;
  readonly endpoint: SimulatedEndpoint | undefined;
  /** False if the processes run released code at first, which may have faults that the code under test no longer has. */
  readonly runsOnlyNewest: boolean;
  /** Called with the name of the process that writes a request to the provider. */
  readonly onWrite: ((process: string) => void)[] = [];
  private shared: SharedSettings | undefined;
  private lastChange: Promise<unknown> = Promise.resolve();
  private recovering: Promise<void> = Promise.resolve();
  private config: WorkerConfig;
  private deployed: Workflows;
  private readonly newest: Workflows;

  constructor(options: PayoutWorldOptions) {
    const { workflows, seed, workers = 1, env, settings, faults, trip = fastTrip } = options;
    this.newest = workflows;
    this.deployed = options.released ?? workflows;
    this.runsOnlyNewest = options.released === undefined;
    this.config = workerConfig({ ...REQUIRED_ENV, ...env });
    if (options.hasSecondApp) this.config = withSecondApp(this.config);
    if (options.events) this.config = { ...this.config, events: simulatedEndpoints(Object.keys(APP_IDS)) };
    this.world = new World({ seed, startsAt: options.startsAt });
    const { world } = this;
    const first =
      options.shared === undefined ? firstSettings(new Date(world.now).toISOString()) : options.shared;
    this.shared = first ?? undefined;
    const endpoint = options.events && new SimulatedEndpoint(world, options.events);
    this.endpoint = endpoint;
    this.server = new Temporal(world);
    this.service = new Service(this.server);
    const randomness = world.randomness();
    // External clients use the current keys.
    const codec = () => {
      const ring = this.config.keys.payloads;
      return ring && rememberingCodec(new ClientCodec(ring, randomness), ring);
    };
    const current: PayloadCodec = {
      encode: async (payloads, context) => codec()?.encode(payloads, context) ?? payloads,
      decode: async (payloads, context) => codec()?.decode(payloads, context) ?? payloads,
    };
    this.converter = { ...clientConverter(undefined, randomness), payloadCodecs: [current] };
    this.client = this.service.client({ dataConverter: this.converter });
    this.payouts = new Payouts({ client: this.client, environment: 'test', clock: world });
    const receiver = new Receiver(this.client, world);
    this.provider = simulatorInProcess({
      ...{ runtime: { clock: world, random: randomness }, apps: providerApps(this.config) },
      ...(settings && { settings }),
      // A worker that died, or a restore, may have lost the answer.
      remembers: (partnerOrderId, createdAtMs) => this.hasRecordedCreate(partnerOrderId, createdAtMs),
      deliver: async ({ url, body }) => {
        await receiver.receive(url.slice(NOTIFY_URL.length), parseNotification(Buffer.from(body)));
        return 202;
      },
    });
    this.wiretap = new Wiretap(world, this.provider);
    const { server, service, wiretap } = this;
    const transport = options.eventTransport?.(world);
    const transportOf = (life: Life) => endpoint?.transportOf(life) ?? transport;
    const program = workerProgram({
      ...{ server, service, provider: wiretap, faults, withoutSchedules: options.withoutSchedules },
      trip: (process) => trip(world, process),
      written: (process) => {
        for (const listener of this.onWrite) listener(process);
      },
      config: () => this.config,
      workflows: () => this.deployed,
      ready: () => this.recovering,
      firstSettings: () => this.shared,
      eventTransport: transportOf,
    });
    this.processes = Array.from(
      { length: workers },
      (_, at) => new Process(world, `worker-${at + 1}`, program),
    );
    if (!options.idle) for (const process of this.processes) process.start();
  }

  /** Applies to processes that start from now on. Missing variables have their defaults. */
  configure(env: Environment): void {
    this.config = workerConfig({ ...REQUIRED_ENV, ...env });
  }

  get keys(): Keys {
    return this.config.keys;
  }

  /** Stops the processes and releases the resources that worlds in one Node process share. */
  async end(): Promise<void> {
    for (const process of this.processes) process.kill();
    await this.world.run({ withinMs: 1 });
  }

  /** Whether the payout's history has an answer of the create that made this order. */
  private hasRecordedCreate(partnerOrderId: string, createdAtMs: number): boolean {
    const ids = Object.keys(APP_IDS).map((app) => payoutWorkflowId(app, partnerOrderId));
    return ids
      .flatMap((workflowId) => activitiesIn(this.server.latest(workflowId)?.entries ?? []))
      .some(
        ({ type, atMs, ended, endedAtMs }) =>
          type === 'createPayout' && ended === 'completed' && atMs <= createdAtMs && createdAtMs <= endedAtMs,
      );
  }

  /** Follows the runbook: stop the workers, restore Temporal, set when it was, start the workers. */
  restore(snapshot: Snapshot): void {
    const { processes, server } = this;
    for (const process of processes) process.kill();
    restore(server, snapshot);
    this.recovering = this.setRecovered();
    for (const process of processes) process.start();
  }

  /**
   * The namespace fails over by itself to a region that lacks what has happened since the snapshot. Processes go on, and
   * nobody knows of it until `setRecovered`. They start again, because workflows that they have in memory may be ahead of
   * the new region, which the SDK would notice.
   */
  failOver(snapshot: Snapshot): void {
    const { processes, server } = this;
    for (const process of processes) process.kill();
    restore(server, snapshot);
    server.failoverVersion += 10;
    for (const process of processes) process.start();
  }

  /** `atMs`: when Temporal has lost something. */
  setRecovered(atMs = this.world.now): Promise<void> {
    return this.setShared({ recoveredAt: new Date(Math.floor(atMs)).toISOString() });
  }

  /**
   * As an operator does, who names both values each time: the restored ones may be older. Repeats what Temporal did not
   * answer or refuses. Visibility may not be restored yet.
   */
  async setShared(changed: Partial<Pick<SharedSettings, 'recoveredAt' | 'approvals'>>): Promise<void> {
    this.shared = this.shared && { ...this.shared, ...changed };
    const settings = new SharedSettingsOf(this.client, 'test');
    for (const { name, appId } of this.config.applications.values())
      for (let isSet = false; !isSet; ) {
        isSet = await this.afterOtherChanges(async () => {
          const { recoveredAt = null, approvals } = { ...this.shared, ...changed };
          const change = { by: 'operator', reason: 'a change', approvals };
          await settings.changeOne(name, appId, { ...change, recoveredAt }).catch(async (error: unknown) => {
            // After a change that was under way during the failover, the time of the failover is not accepted.
            if (!(error instanceof SettingsChangeError)) throw error;
            await settings.changeOne(name, appId, { ...change, recoveredAt: 'now' });
          });
        });
        if (!isSet) await this.world.sleep(1_000);
      }
  }

  /** One at a time, because the last change wins. Returns whether it succeeded. */
  private afterOtherChanges(change: () => Promise<void>): Promise<boolean> {
    const succeeds = () =>
      change().then(
        () => true,
        () => false,
      );
    // A restored server never answers what the earlier one was asked.
    const givenUp = () => this.world.sleep(OPERATOR_WAITS_MS).then(() => false);
    const result = this.lastChange.then(() => Promise.race([succeeds(), givenUp()]));
    this.lastChange = result;
    return result;
  }

  /** Shuts down each process in turn and starts it with the new keys. */
  async rollingRestart(keys: Environment): Promise<void> {
    this.config = { ...this.config, keys: encryptionKeys({ ...REQUIRED_ENV, ...keys }) };
    for (const process of this.processes) {
      await this.shutDown(process);
      process.start();
    }
  }

  /** Follows the guide: shut down all processes, then start them with the new code. */
  async upgrade(): Promise<void> {
    const { processes } = this;
    await Promise.all(processes.map((process) => this.shutDown(process)));
    // A fault may have started one again meanwhile.
    for (const process of processes) process.kill();
    this.deployed = this.newest;
    for (const process of processes) process.start();
  }

  private async shutDown(process: Process): Promise<void> {
    process.stop();
    for (let waits = 0; process.life && waits < SHUTDOWN_LIMIT_MS; waits += 1_000)
      await this.world.sleep(1_000);
    process.kill();
  }

  start(number: number, more: Partial<PayoutRequest> = {}) {
    return this.payouts.start(payoutRequest(number, more));
  }
}

/** A converter that reads the payloads of every world, before and after a key rotation. */
export function readerConverter({ world }: PayoutWorld): DataConverter {
  const { payloads } = encryptionKeys({ ...REQUIRED_ENV, PAYOUTS_ENCRYPTION_KEYS: `${KEYS},${NEXT_KEYS}` });
  return dataConverter(payloads, world.randomness());
}

function withSecondApp(config: WorkerConfig): WorkerConfig {
  const second = { name: SECOND_APP, appId: APP_IDS[SECOND_APP] ?? '', appSecret: APP_SECRET };
  return { ...config, applications: new Map([...config.applications, [SECOND_APP, second]]) };
}

/** A network without faults. */
export function fastTrip({ random }: World): Trip {
  return {
    connectMs: 1,
    requestMs: random.between(1, 10),
    answerMs: random.between(1, 10),
    fate: 'arrives',
  };
}

export function partnerOrderIdOf(number: number): string {
  return `p-${number}`;
}

export function appOf(number: number): string {
  return number < SECOND_APP_FROM ? 'default' : SECOND_APP;
}

export function refOf(number: number): { app: string; partnerOrderId: string } {
  return { app: appOf(number), partnerOrderId: partnerOrderIdOf(number) };
}

export function payoutId(number: number): string {
  return payoutWorkflowId(appOf(number), partnerOrderIdOf(number));
}

/** By the number, so that worlds without it stay the same. */
function metadataOf(number: number): Pick<PayoutRequest, 'metadata'> {
  if (number % 3 !== 0) return {};
  return { metadata: { reference: metadataValue(number), constructor: '', row: String(number) } };
}

/** Recognizable in histories, logs and requests to the provider. */
export function metadataValue(number: number): string {
  return `metadata-of-${String(number).padStart(8, '0')}`;
}

export function payoutRequest(number: number, more: Partial<PayoutRequest> = {}): PayoutRequest {
  return {
    ...{
      app: appOf(number),
      clientId: `client-${number % 7}`,
      payerId: `payer-${number}`,
      type: 'WITHDRAW',
      platform: 'sim',
    },
    partnerOrderId: partnerOrderIdOf(number),
    instructedAmount: { currency: 'CNY', amount: '100.00' },
    ...{ originCurrency: 'USD', targetCurrency: 'CNY', remittancePurposeCode: 'GOODS', approval: 'none' },
    receiver: {
      ...{
        bankCountry: 'CN',
        bankName: 'Example Bank',
        bankAccountCurrency: 'CNY',
        cardHoldType: 'Personal',
      },
      bankAccountNumber: `62220200${String(number).padStart(8, '0')}`,
      ...{ bankAccountName: 'Zhang San', idCardNumber: '110101199003070000' },
    },
    ...metadataOf(number),
    ...more,
  };
}
