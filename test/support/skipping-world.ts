/**
 * Payouts on Temporal's time-skipping test server: a week passes in seconds, and a window is as long as the settings
 * say. Time stands still for nobody else: the simulator and the activities live in real time, so a test changes what
 * the simulator does between two sleeps.
 *
 * The server knows no list, no count, no schedule and no reset. It does not skip time while an activity runs, so the
 * rate-limit lease and the renewal of tokens are left out.
 */

import { activityInfo } from '@temporalio/activity';
import { SearchAttributeType } from '@temporalio/common';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { inject } from 'vitest';
import { readyExample, whyNot } from '../../scripts/setup/examples.mjs';
import { TIME_SKIPPING } from '../../scripts/setup/time-skipping.mjs';
import { type FaultInput, type Simulator, startSimulator } from '../../simulator/index.ts';
import { preparation } from '../../src/activities/prepare-payout.ts';
import { serviceActivities } from '../../src/activities/service-activities.ts';
import { sendPolicy, workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { apiTaskQueue, PAYOUTS_TASK_QUEUE } from '../../src/domain/identity.ts';
import type { PayoutRequest, PayoutState } from '../../src/domain/payout.ts';
import type { PaymentsClient, TokenSource } from '../../src/payments/index.ts';
import { type PayoutRef, Payouts } from '../../src/starters/payouts.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';
import { serviceClient } from '../../src/workers/service-client.ts';
import { freshNumber, untilState } from './payout-world.ts';
import { payoutRequest } from './requests.ts';
import { type SkippingServer, startSkippingServer } from './time-skipping/server.ts';

const PLACE = { environment: 'test', app: 'default' };

const ENCODED_TYPES = {
  Keyword: encodeSearchAttributeIndexedValueType(SearchAttributeType.KEYWORD),
  Bool: encodeSearchAttributeIndexedValueType(SearchAttributeType.BOOL),
};

/** Why there is no such world on this machine; nothing where there is. */
export const NO_SKIPPING = await whyNot(TIME_SKIPPING);
if (NO_SKIPPING !== undefined) console.warn(`skipped: ${NO_SKIPPING}`);

export class SkippingWorld {
  readonly simulator: Simulator;
  readonly payouts: Payouts;
  private readonly server: SkippingServer;
  private readonly service: PaymentsClient;
  private readonly workers: Worker[];
  private readonly done: Promise<unknown>;

  private constructor(parts: {
    server: SkippingServer;
    simulator: Simulator;
    service: PaymentsClient;
    workers: Worker[];
  }) {
    this.server = parts.server;
    this.simulator = parts.simulator;
    this.service = parts.service;
    this.workers = parts.workers;
    this.payouts = new Payouts({ client: parts.server.engine.client, environment: PLACE.environment });
    this.done = Promise.all(parts.workers.map((worker) => worker.run()));
  }

  /** Every setting that `env` leaves out has its default. */
  static async start(env: Environment = {}): Promise<SkippingWorld> {
    const [path = ''] = await readyExample(TIME_SKIPPING);
    const simulator = await startSimulator({ settings: { callsPerSecond: 1_000 } });
    const config = workerConfig({
      PAYMENTS_ENVIRONMENT: PLACE.environment,
      PAYMENTS_BASE_URL: simulator.url,
      PAYMENTS_AUTH_URL: simulator.url,
      PAYMENTS_APP_ID: 'demo-app',
      PAYMENTS_APP_SECRET: 'demo-secret',
      PAYMENTS_REDIRECT_URI: 'http://127.0.0.1:9/v1/oauth/default/callback',
      ...env,
    });
    const application = config.applications.get(PLACE.app);
    if (!application) throw new Error('the application is not configured');
    const server = await startSkippingServer(path);
    const { engine } = server;
    await defineSearchAttributes(engine);
    const surroundings = PROCESS_SURROUNDINGS;
    const tokens: TokenSource = { token: async () => (await service.applicationToken()).accessToken };
    const gate = { pass: async () => undefined };
    const service = await serviceClient(config, application, {
      tokens,
      gate,
      callsPerSecond: 1_000,
      surroundings,
    });
    const common = { connection: engine.nativeConnection, namespace: engine.namespace ?? 'default' };
    const workers = await Promise.all([
      Worker.create({
        ...common,
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowBundle: { codePath: inject('workflowBundle') },
        activities: { ...preparation(config, surroundings.clock) },
      }),
      Worker.create({
        ...common,
        taskQueue: apiTaskQueue(PLACE.environment, PLACE.app),
        activities: {
          ...serviceActivities({
            ...PLACE,
            client: service,
            surroundings,
            claim: async () => undefined,
            policy: sendPolicy(config.env),
            histories: NO_OTHER_RUNS,
          }),
        },
      }),
    ]);
    return new SkippingWorld({ server, simulator, service, workers });
  }

  async stop(): Promise<void> {
    for (const worker of this.workers) worker.shutdown();
    await this.done.catch(() => undefined);
    await this.service.close();
    await this.simulator.close();
    await this.server.stop();
  }

  /** Starts a plain payout whose order lives by `scenario`; answers how to refer to it. */
  async pay(scenario: string, over: Partial<PayoutRequest> = {}): Promise<PayoutRef> {
    const request = payoutRequest(freshNumber(), { platform: `sim:${scenario}`, ...over });
    await this.payouts.start(request);
    return { partnerOrderId: request.partnerOrderId };
  }

  /** Like `pay`, with one fault on the way of its first create. */
  async paySpoilt(fault: FaultInput, scenario: string): Promise<PayoutRef> {
    const partnerOrderId = freshNumber();
    this.simulator.control.addFault({ operation: 'createCnyOrder', partnerOrderId, times: 1, fault });
    return this.pay(scenario, { partnerOrderId });
  }

  /** So much time passes for Temporal and its workflows. */
  async sleep(ms: number): Promise<void> {
    await this.server.engine.sleep(ms);
  }

  /** The workflows' time. */
  async now(): Promise<number> {
    return this.server.engine.currentTimeMs();
  }

  /** Waits without skipping any time. */
  async until(ref: PayoutRef, wanted: (state: PayoutState) => boolean): Promise<PayoutState> {
    return untilState(this.payouts, ref, wanted);
  }
}

/** The server cannot be asked for those that it has. */
async function defineSearchAttributes({ connection, namespace = 'default' }: TestWorkflowEnvironment) {
  const types = Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [name, ENCODED_TYPES[type]]);
  await connection.operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(types),
  });
}

/** Nothing is ever reset or started twice here. */
const NO_OTHER_RUNS = {
  runsOf: async () => [{ runId: activityInfo().workflowExecution?.runId ?? '', startedAtMs: 0 }],
  scheduled: async () => false,
  argumentOf: async () => undefined,
};
