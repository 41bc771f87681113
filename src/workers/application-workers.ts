/**
 * What one process does for one application: it waits for the rate-limit lease, and while it owns it serves the queue
 * of the application's API calls and the queue of its token calls.
 */
import type { Client } from '@temporalio/client';
import type { NativeConnection, Worker } from '@temporalio/worker';
import { temporalHistories } from '../activities/earlier-runs.ts';
import type { Claim } from '../activities/send-once.ts';
import { serviceActivities } from '../activities/service-activities.ts';
import { tokenActivities } from '../activities/token-activities.ts';
import type { Application } from '../config/applications.ts';
import { sendPolicy, type WorkerConfig } from '../config/config.ts';
import { sendWithinMs } from '../domain/deadlines.ts';
import { apiTaskQueue, leaseTaskQueue } from '../domain/identity.ts';
import { TokenSeal } from '../encryption/token-seal.ts';
import { activityWorker } from './rate-limit/activity-worker.ts';
import { PROCESS_CLOCK } from './rate-limit/clock.ts';
import { LeaseKeeper } from './rate-limit/keep-lease.ts';
import { leaseActivities } from './rate-limit/lease.ts';
import { LeaseSlot } from './rate-limit/lease-slot.ts';
import { RateLimiter } from './rate-limit/limiter.ts';
import { OwnedQueues } from './rate-limit/owned-queues.ts';
import type { Ownership } from './rate-limit/ownership.ts';
import { CallSlots } from './rate-limit/slots.ts';
import { mostInFlight, serviceClient } from './service-client.ts';
import { RenewedTokens } from './tokens/renewed-tokens.ts';
import { TokenHistories } from './tokens/token-histories.ts';
import { TokenRenewals } from './tokens/token-renewals.ts';
import { tokenWorkers } from './tokens/token-workers.ts';

export interface ApplicationParts {
  config: WorkerConfig;
  connection: NativeConnection;
  client: Client;
  namespace: string;
}

/** As much of a Worker as those who run one need. */
export type Runnable = Pick<Worker, 'run' | 'shutdown' | 'getState'>;

/** What is under way may finish; an API call takes at most this long. */
export const SHUTDOWN_GRACE = '30s';
const MOST_POLLS = 10;
/**
 * A process that does not own the lease has the token at hand too: the renewal may have run in the owner that froze, and
 * then Temporal gives no answer about it for a while. Costs nothing while the token is fresh.
 */
const WARM_EVERY_MS = 5_000;

export async function applicationServer(
  parts: ApplicationParts,
  application: Application,
  ownership: Ownership,
): Promise<Runnable> {
  const { config, client } = parts;
  const { name: app, appId } = application;
  const environment = config.env.PAYMENTS_ENVIRONMENT;
  const place = { environment, app };
  const leasePlace = { environment, appId };
  const callsPerSecond = application.callsPerSecond ?? config.env.PAYMENTS_CALLS_PER_SECOND;
  const limiter = new RateLimiter(PROCESS_CLOCK, config.env.PAYMENTS_ARRIVAL_JITTER);
  const activities = await callActivities(parts, application, limiter, callsPerSecond);
  const keeper = new LeaseKeeper(client, leasePlace, app);
  const queues = new OwnedQueues({
    app,
    limiter,
    callsPerSecond,
    createWorkers: (rate, term) => queueWorkers(parts, place, limiter, activities, rate, term),
    began: () => {
      ownership.took(appId);
      activities.warm();
    },
    ended: () => {
      ownership.gave(appId);
      keeper.look();
    },
    failed: (error) => server.fail(error),
    surplus: (signal) => ownership.surplus(leasePlace, signal),
    leaveToOthers: (reached) => ownership.leaveToOthers(leasePlace, reached),
  });
  const lease = await activityWorker(parts, {
    taskQueue: leaseTaskQueue(environment, appId),
    activities: { ...leaseActivities(queues, client) },
    slots: new LeaseSlot(appId, ownership),
    polls: 1,
    graceTime: 0,
  });
  const server = new ApplicationServer(lease, queues, keeper, activities.warm);
  return server;
}

class ApplicationServer implements Runnable {
  private readonly lease: Worker;
  private readonly queues: OwnedQueues;
  private readonly keeper: LeaseKeeper;
  private readonly warm: () => void;
  private failure: { error: unknown } | undefined;

  constructor(lease: Worker, queues: OwnedQueues, keeper: LeaseKeeper, warm: () => void) {
    this.lease = lease;
    this.queues = queues;
    this.keeper = keeper;
    this.warm = warm;
  }

  /** Until it is shut down and everything under way has ended. */
  async run(): Promise<void> {
    this.keeper.look();
    this.warm();
    const warming = setInterval(this.warm, WARM_EVERY_MS);
    try {
      await this.lease.run();
    } finally {
      clearInterval(warming);
      this.keeper.stop();
    }
    await this.queues.finished();
    if (this.failure) throw this.failure.error;
  }

  shutdown(): void {
    this.lease.shutdown();
  }

  getState() {
    return this.lease.getState();
  }

  /** An owner that cannot serve must not stay the owner. */
  fail(error: unknown): void {
    this.failure = { error };
    if (this.getState() === 'RUNNING') this.shutdown();
  }
}

async function callActivities(
  { config, client }: ApplicationParts,
  application: Application,
  limiter: RateLimiter,
  callsPerSecond: number,
) {
  const place = { environment: config.env.PAYMENTS_ENVIRONMENT, app: application.name };
  const seal = new TokenSeal(config.keys.tokens);
  const renewals = new TokenRenewals(client);
  const tokens = new RenewedTokens(place, renewals, seal);
  const service = await serviceClient(config, application, { tokens, gate: limiter, callsPerSecond });
  const claim: Claim = (taskToken, details) => client.activity.heartbeat(taskToken, details);
  const shared = { ...place, client: service };
  const { PAYMENTS_GATEWAY_TOKEN, PAYMENTS_TRADE_TOKEN } = config.env;
  const needed = [PAYMENTS_GATEWAY_TOKEN, PAYMENTS_TRADE_TOKEN].includes('application');
  return {
    /** A call must not wait for the token; without one it would, and says why. */
    warm: () => {
      if (needed) tokens.token({ kind: 'application' }).catch(() => undefined);
    },
    api: serviceActivities({
      ...shared,
      claim,
      policy: sendPolicy(config.env),
      histories: temporalHistories(client),
    }),
    token: tokenActivities({
      ...shared,
      stillOurs: claim,
      seal,
      histories: new TokenHistories(client),
      sendWithinMs: sendWithinMs(config.env.PAYMENTS_CALL_TIMEOUT),
      feed: (owner, accessToken, livesMs) => tokens.feed(owner, accessToken, livesMs),
      handOver: (owner, grant) => renewals.handOver(owner, grant),
    }),
  };
}

/** For one term: a Worker that has been shut down does not run again. */
function queueWorkers(
  parts: ApplicationParts,
  { environment, app }: { environment: string; app: string },
  limiter: RateLimiter,
  { api, token }: Awaited<ReturnType<typeof callActivities>>,
  callsPerSecond: number,
  term: number,
): Promise<Worker[]> {
  const common = { graceTime: SHUTDOWN_GRACE, buildId: `term-${term}` };
  return Promise.all([
    activityWorker(parts, {
      ...common,
      taskQueue: apiTaskQueue(environment, app),
      activities: { ...api },
      slots: new CallSlots(limiter, mostInFlight(parts.config, callsPerSecond)),
      polls: Math.min(MOST_POLLS, CallSlots.ahead(callsPerSecond)),
    }),
    ...tokenWorkers(parts, { environment, app }, callsPerSecond, { ...common, activities: { ...token } }),
  ]);
}
