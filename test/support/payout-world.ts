/**
 * The environment of one test file: its own namespace on the shared Temporal server, a simulator on a real socket, and workers.
 * Everything started is stopped, whatever the test did.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Client,
  Connection,
  type ConnectionLike,
  isGrpcServiceError,
  ServiceError,
} from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { inject } from 'vitest';
import {
  type FaultInput,
  type FaultRuleInput,
  type SettingsChange,
  type Simulator,
  startSimulator,
} from '../../simulator/index.ts';
import { type PayoutRef, Payouts } from '../../src/client/payouts.ts';
import { workerConfig } from '../../src/config/config.ts';
import { encryptionKeys } from '../../src/config/encryption.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutRequest, PayoutState } from '../../src/domain/payout.ts';
import { dataConverter } from '../../src/encryption/data-converter.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import { registerSearchAttributes } from '../../src/temporal/search-attributes.ts';
import type { Runnable } from '../../src/workers/activity-worker.ts';
import { keepRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { createWorkers, runWorkers } from '../../src/workers/worker.ts';
import { workflowBundle } from '../../src/workers/workflow-bundle.ts';
import { patientInterceptors } from './patient-client.ts';
import { payoutRequest } from './requests.ts';

// Tests provoke thousands of warnings, and assert no log line.
Runtime.install({ logger: new DefaultLogger('ERROR') });

/** Short enough for a test, in the proportions of the defaults. */
export const QUICK: Environment = {
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_APP_ID: 'demo-app',
  PAYMENTS_APP_SECRET: 'demo-secret',
  PAYMENTS_REDIRECT_URI: 'http://127.0.0.1:9/v1/oauth/default/callback',
  PAYMENTS_CALL_TIMEOUT: '2s',
  PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
  PAYOUTS_CONFIRMATION_WINDOW: '1s',
  PAYOUTS_POLL_FIRST: '200ms',
  PAYOUTS_POLL_MAX: '1s',
};

/** gRPC's CANCELLED, DEADLINE_EXCEEDED, and FAILED_PRECONDITION: a workflow task was late or failed, and is retried. */
const GAVE_UP: readonly number[] = [1, 4, 9];

/**
 * Without polls: only a notification or a person makes this payout query the provider. No poll repairs what a slow machine
 * missed, so calls have no short timeout.
 */
export const NO_POLLS: Environment = {
  PAYOUTS_POLL_FIRST: '1h',
  PAYOUTS_POLL_MAX: '1h',
  PAYMENTS_CALL_TIMEOUT: '1m',
};

export interface WorldOptions {
  env?: Environment;
  settings?: SettingsChange;
  /** A Temporal server other than the shared one. */
  address?: string;
  /** Without workers, nothing runs until `startWorkers`. */
  idle?: boolean;
}

export class PayoutWorld {
  readonly namespace: string;
  readonly address: string;
  readonly simulator: Simulator;
  readonly client: Client;
  readonly payouts: Payouts;
  private env: Environment;
  readonly native: NativeConnection;
  private running: { workers: Runnable[]; done: Promise<unknown>; stopKeeping: () => void } | undefined;

  private constructor(parts: {
    namespace: string;
    address: string;
    simulator: Simulator;
    client: Client;
    native: NativeConnection;
    env: Environment;
  }) {
    this.namespace = parts.namespace;
    this.address = parts.address;
    this.simulator = parts.simulator;
    this.client = parts.client;
    this.native = parts.native;
    this.env = parts.env;
    this.payouts = new Payouts({ client: parts.client, environment: 'test' });
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
      dataConverter: dataConverter(keys, PROCESS_SURROUNDINGS.random),
      interceptors: patientInterceptors(),
    });
    // A server of several parts learns the search attributes of a new namespace only after some seconds.
    await eventually(() => client.workflow.count("PayoutApp = 'any'").catch(() => undefined));
    const world = new PayoutWorld({ namespace, address, simulator, client, native, env });
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
    const created = await createWorkers({
      ...{ config, client, surroundings: PROCESS_SURROUNDINGS },
      createWorker: (options) =>
        Worker.create({ ...options, connection: this.native, namespace: this.namespace }),
      workflowBundle: await workflowBundle(config.env.PAYOUTS_WORKFLOW_BUNDLE),
    });
    const workers = [created.workflows, ...created.applications];
    const done = runWorkers(created);
    this.running = {
      workers,
      done,
      stopKeeping: keepRenewals(client, config, PROCESS_SURROUNDINGS, console),
    };
  }

  /** A client with its own payload keys; without keys it sends plain payloads. */
  speaking(keys: string | undefined): Client {
    const ring = encryptionKeys({ ...this.env, PAYOUTS_ENCRYPTION_KEYS: keys }).payloads;
    const { connection } = this.client;
    return new Client({
      connection,
      namespace: this.namespace,
      dataConverter: dataConverter(ring, PROCESS_SURROUNDINGS.random),
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

  /** Starts a plain payout whose order follows `scenario`. Returns its reference. */
  async pay(scenario: string, over: Partial<PayoutRequest> = {}): Promise<PayoutRef> {
    const request = payoutRequest(newPartnerOrderId(), { platform: `sim:${scenario}`, ...over });
    await this.payouts.start(request);
    return { partnerOrderId: request.partnerOrderId };
  }

  /** Like `pay`, with one fault in its first create, or in the first call of another operation. */
  async payWithFault(
    fault: FaultInput,
    scenario: string,
    operation: FaultRuleInput['operation'] = 'createCnyOrder',
  ): Promise<PayoutRef> {
    const partnerOrderId = newPartnerOrderId();
    this.simulator.control.addFault({ operation, partnerOrderId, times: 1, fault });
    return this.pay(scenario, { partnerOrderId });
  }

  /** A payout whose create is held at the provider, before or after its effect, until `release`. */
  async payHeld(
    effect: 'before' | 'after',
    scenario: string,
  ): Promise<{ ref: PayoutRef; release: () => void }> {
    const partnerOrderId = newPartnerOrderId();
    const held = this.holdCreate(partnerOrderId, effect);
    const ref = await this.pay(scenario, { partnerOrderId });
    await eventually(held.arrived);
    return { ref, release: held.release };
  }

  /** Holds the first create under this partnerOrderId. */
  holdCreate(partnerOrderId: string, effect: 'before' | 'after') {
    return this.hold({ operation: 'createCnyOrder', partnerOrderId, times: 1 }, effect);
  }

  /** Holds calls at the provider, before or after their effect, until `release`. */
  hold(which: Omit<FaultRuleInput, 'fault'>, effect: 'before' | 'after') {
    const { control } = this.simulator;
    const { id } = control.addFault({ ...which, fault: { kind: 'hold-until-released', effect } });
    const holds = () => control.faults().some((rule) => rule.id === id && rule.held > 0);
    return {
      arrived: () => holds() || undefined,
      release: () => {
        control.releaseFault(id);
        control.removeFault(id);
      },
    };
  }

  /** Waits until the payout's state matches, on a machine of any speed. */
  async until(ref: PayoutRef, wanted: (state: PayoutState) => boolean): Promise<PayoutState> {
    return untilState(this.payouts, ref, wanted);
  }

  async history(ref: PayoutRef) {
    return this.payouts.handle(ref).fetchHistory();
  }

  /** What a run, by default the latest, did after its last call to the provider; empty while a call is in flight. */
  async sinceLastCall(ref: PayoutRef, runId?: string) {
    const { workflowId } = this.payouts.handle(ref);
    const { events } = await this.client.workflow.getHandle(workflowId, runId).fetchHistory();
    const all = events ?? [];
    const last = all.findLastIndex((event) => event.activityTaskCompletedEventAttributes);
    const since = all.slice(last + 1);
    return since.some((event) => event.activityTaskScheduledEventAttributes) ? [] : since;
  }

  /** Makes the history long enough for continue-as-new, with notifications that name another payout and wake nothing. */
  async lengthen(ref: PayoutRef): Promise<void> {
    const ignored = { receivedAt: new Date().toISOString(), partnerOrderId: 'another' };
    await Promise.all(Array.from({ length: 300 }, () => this.payouts.notify(ref, ignored)));
  }
}

/** Fails when the payout ends without ever matching. */
export async function untilState(
  payouts: Payouts,
  ref: PayoutRef,
  wanted: (state: PayoutState) => boolean,
): Promise<PayoutState> {
  return eventually(async () => {
    const state = await payouts.state(ref).catch(gaveUp);
    if (state === undefined) return undefined;
    if (wanted(state)) return state;
    if (state.phase === 'DONE') throw new Error(`it has ended otherwise: ${JSON.stringify(state)}`);
    return undefined;
  });
}

/** A busy server that gave up on a query is asked again; any other error is thrown. */
function gaveUp(error: unknown): undefined {
  const cause = error instanceof ServiceError ? error.cause : undefined;
  if (isGrpcServiceError(cause) && GAVE_UP.includes(cause.code)) return undefined;
  throw error;
}

export function newPartnerOrderId(): string {
  return `p-${randomUUID()}`;
}

const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 250;

/** Tries again, less and less often, until `look` returns a value. Only the test's own timeout limits it. */
export async function eventually<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 1.3)) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await sleep(pauseMs);
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
