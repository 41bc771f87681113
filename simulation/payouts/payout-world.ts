/** One Temporal, the product's worker processes and its receiver of notifications, and a provider: all in virtual time. */
import type { Client } from '@temporalio/client';
import type { DataConverter, PayloadCodec } from '@temporalio/common';
import { type InProcessSimulator, type SettingsChange, simulatorInProcess } from '../../simulator/index.ts';
import { Payouts } from '../../src/client/payouts.ts';
import { type WorkerConfig, workerConfig } from '../../src/config/config.ts';
import { encryptionKeys, type Keys } from '../../src/config/encryption.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutRequestInput } from '../../src/contract/payout-request.ts';
import { dataConverter } from '../../src/encryption/data-converter.ts';
import type { KeyRing } from '../../src/encryption/key-ring.ts';
import { EncryptionCodec } from '../../src/encryption/payload-codec.ts';
import { parseNotification } from '../../src/payments/index.ts';
import { Receiver } from '../../src/starters/api/receiver.ts';
import { Process } from '../process/life.ts';
import type { Trip } from '../provider/transport.ts';
import { Wiretap } from '../provider/wiretap.ts';
import type { Workflows } from '../sdk.ts';
import { Service } from '../temporal/rpc.ts';
import { restore, type Snapshot } from '../temporal/snapshot.ts';
import { Temporal } from '../temporal/temporal.ts';
import type { ProcessFaults } from '../temporal/workflow-tasks.ts';
import { World } from '../world/world.ts';
import { workerProgram } from './worker-process.ts';

export interface PayoutWorldOptions {
  workflows: Workflows;
  seed: number;
  workers?: number;
  faults?: ProcessFaults;
  /** Of the provider. */
  settings?: SettingsChange;
  /** Of the worker processes; what it leaves out has its default. */
  env?: Environment;
  /** Of each call. */
  trip?: (world: World) => Trip;
}

export const KEYS = 'simulated:c2ltdWxhdGVkLXNpbXVsYXRlZC1zaW11bGF0ZWQtMzI=';
/** After a rotation. */
export const NEXT_KEYS = 'next:bmV4dC1uZXh0LW5leHQtbmV4dC1uZXh0LW5leHQtMzI=';
/** A process that does not end in good order by then is killed. */
const ENDS_WITHIN_MS = 40_000;
export const APP_SECRET = 'demo-secret';
const NOTIFY_URL = 'http://receiver.invalid/v1/notifications/default';
const NEEDED: Environment = {
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'https://provider.invalid',
  PAYMENTS_AUTH_URL: 'https://provider.invalid',
  PAYMENTS_APP_ID: 'demo-app',
  PAYMENTS_APP_SECRET: APP_SECRET,
  PAYMENTS_REDIRECT_URI: 'https://receiver.invalid/v1/oauth/default/callback',
  PAYOUTS_TOKEN_KEYS: KEYS,
  PAYOUTS_ENCRYPTION_KEYS: KEYS,
};

const APPS = [{ appId: 'demo-app', appSecret: APP_SECRET, notifyUrl: NOTIFY_URL }];

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
  private config: WorkerConfig;

  constructor({ workflows, seed, workers = 1, env, settings, faults, trip = swift }: PayoutWorldOptions) {
    this.config = workerConfig({ ...NEEDED, ...env });
    this.world = new World({ seed });
    const { world } = this;
    this.server = new Temporal(world);
    this.service = new Service(this.server);
    const randomness = world.randomness();
    // Whoever reads and writes from outside has the keys of the moment.
    const codec = () => new EncryptionCodec(ringOf(this.config), randomness);
    const current: PayloadCodec = {
      encode: (payloads) => codec().encode(payloads),
      decode: (payloads) => codec().decode(payloads),
    };
    this.converter = { ...dataConverter(undefined, randomness), payloadCodecs: [current] };
    this.client = this.service.client({ dataConverter: this.converter });
    this.payouts = new Payouts({ client: this.client, environment: 'test', clock: world });
    const receiver = new Receiver(this.client, { clock: world });
    this.provider = simulatorInProcess({
      ...{ surroundings: { clock: world, random: randomness }, apps: APPS },
      ...(settings && { settings }),
      deliver: async ({ body }) => {
        await receiver.receive('default', parseNotification(Buffer.from(body)));
        return 202;
      },
    });
    this.wiretap = new Wiretap(world, this.provider);
    const { server, service, wiretap } = this;
    const program = workerProgram({
      ...{ server, service, provider: wiretap, workflows, faults },
      trip: () => trip(world),
      config: () => this.config,
    });
    this.processes = Array.from(
      { length: workers },
      (_, at) => new Process(world, `worker-${at + 1}`, program),
    );
    for (const process of this.processes) process.start();
  }

  get keys(): Keys {
    return this.config.keys;
  }

  /** Lets go of what the worlds of one process share. */
  async end(): Promise<void> {
    for (const process of this.processes) process.kill();
    await this.world.run({ withinMs: 1 });
  }

  /** As the runbook says: workers stopped, Temporal restored, the setting set, workers started. */
  restore(snapshot: Snapshot): void {
    const { world, processes, server } = this;
    for (const process of processes) process.kill();
    restore(server, snapshot);
    this.config = {
      ...this.config,
      env: { ...this.config.env, PAYOUTS_TEMPORAL_RECOVERED_AT: Math.ceil(world.now) },
    };
    for (const process of processes) process.start();
  }

  /** One process after the other is ended in good order, and started with other keys. */
  async roll(keys: Environment): Promise<void> {
    const { world, processes } = this;
    this.config = { ...this.config, keys: encryptionKeys({ ...NEEDED, ...keys }) };
    for (const process of processes) {
      process.stop();
      for (let waits = 0; process.life && waits < ENDS_WITHIN_MS; waits += 1_000) await world.sleep(1_000);
      process.kill();
      process.start();
    }
  }

  start(number: number, more: Partial<PayoutRequestInput> = {}) {
    return this.payouts.start(payoutRequest(number, more));
  }
}

/** Reads what any world has written, whenever its keys were replaced. */
export function reader({ world }: PayoutWorld): DataConverter {
  const { payloads } = encryptionKeys({ ...NEEDED, PAYOUTS_ENCRYPTION_KEYS: `${KEYS},${NEXT_KEYS}` });
  return dataConverter(payloads, world.randomness());
}

function ringOf({ keys }: WorkerConfig): KeyRing {
  if (!keys.payloads) throw new Error('the payloads of a world are encrypted');
  return keys.payloads;
}

/** Nothing goes wrong on the way. */
export function swift({ random }: World): Trip {
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

export function payoutId(number: number): string {
  return `payout:default:${partnerOrderIdOf(number)}`;
}

export function payoutRequest(number: number, more: Partial<PayoutRequestInput> = {}): PayoutRequestInput {
  return {
    ...{
      app: 'default',
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
    ...more,
  };
}
