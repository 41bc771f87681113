/** A small world: one Temporal, worker processes, a provider, and payouts. */
import type { Client } from '@temporalio/client';
import { preparation } from '../../src/activities/prepare-payout.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { PAYOUTS_TASK_QUEUE } from '../../src/domain/identity.ts';
import type { Workflows } from '../sdk.ts';
import { Service } from '../temporal/rpc.ts';
import { Temporal } from '../temporal/temporal.ts';
import { type ProcessFaults, WorkerProcess } from '../temporal/worker.ts';
import { World } from '../world/world.ts';
import { FakeProvider, NO_TROUBLES, type Troubles } from './fake-provider.ts';

export interface PayoutWorldOptions {
  workflows: Workflows;
  seed: number;
  workers?: number;
  faults?: ProcessFaults;
  troubles?: Troubles;
  /** Settings; what it leaves out has its default. */
  env?: Environment;
}

/** Short waits, so that a payout takes seconds of virtual time. */
const QUICK: Environment = {
  PAYMENTS_CALL_TIMEOUT: '200ms',
  PAYMENTS_LOCK_LIFETIME: '5s',
  PAYOUTS_CONFIRMATION_WINDOW: '1s',
  PAYOUTS_POLL_FIRST: '2s',
  PAYOUTS_POLL_MAX: '10s',
};
const NEEDED: Environment = {
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'http://127.0.0.1:9',
  PAYMENTS_AUTH_URL: 'http://127.0.0.1:9',
  PAYMENTS_APP_ID: 'simulated',
  PAYMENTS_APP_SECRET: 'simulated',
  PAYMENTS_REDIRECT_URI: 'http://127.0.0.1:9/v1/oauth/default/callback',
};

export class PayoutWorld {
  readonly world: World;
  readonly server: Temporal;
  readonly service: Service;
  readonly client: Client;
  readonly provider: FakeProvider;

  constructor({
    workflows,
    seed,
    workers = 1,
    faults,
    troubles = NO_TROUBLES,
    env = QUICK,
  }: PayoutWorldOptions) {
    this.world = new World({ seed });
    this.server = new Temporal(this.world);
    this.service = new Service(this.server);
    this.client = this.service.client();
    this.provider = new FakeProvider(this.world, troubles);
    this.provider.notify = (partnerOrderId) => this.notify(partnerOrderId);
    this.provider.claim = (process, taskToken) =>
      this.service.clientOf(process).activity.heartbeat(taskToken, 'may have been sent');
    const config = workerConfig({ ...NEEDED, ...env });
    for (let number = 1; number <= workers; number += 1)
      this.server.connect(
        new WorkerProcess(this.world, {
          name: `worker-${number}`,
          queues: [PAYOUTS_TASK_QUEUE, 'payouts-api:test:default'],
          workflows,
          activities: this.provider.activities,
          local: () => ({ ...preparation(config, this.world) }),
          faults,
        }),
      );
  }

  async start(number: number, more: object = {}) {
    const options = {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: payoutId(number),
      memo: { rejectDuplicate: true },
    };
    return this.client.workflow.start('payout', { ...options, args: [payoutRequest(number, more)] });
  }

  private notify(partnerOrderId: string): void {
    const hint = { receivedAt: new Date(Math.floor(this.world.now)).toISOString(), partnerOrderId };
    const handle = this.client.workflow.getHandle(`payout:default:${partnerOrderId}`);
    // One for a payout that has ended is no news to anybody.
    this.world.spawn(handle.signal('notification', hint).catch(() => undefined));
  }
}

export function partnerOrderIdOf(number: number): string {
  return `p-${number}`;
}

export function payoutId(number: number): string {
  return `payout:default:${partnerOrderIdOf(number)}`;
}

export function payoutRequest(number: number, more: object = {}) {
  return {
    ...{
      app: 'default',
      clientId: `client-${number % 7}`,
      payerId: 'payer-1',
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
      ...{
        bankAccountNumber: '6222020000000000',
        bankAccountName: 'Zhang San',
        idCardNumber: '110101199003070000',
      },
    },
    ...more,
  };
}
