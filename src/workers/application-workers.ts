/**
 * What one process does for one application: it waits for the rate-limit lease, and while it owns it serves the queue
 * of the application's API calls and the queue of its token calls.
 */
import { temporalHistories } from '../activities/payout/earlier-runs.ts';
import type { Claim } from '../activities/payout/send-once.ts';
import { serviceActivities } from '../activities/shared/service-activities.ts';
import { tokenActivities } from '../activities/tokens/token-activities.ts';
import type { Application } from '../config/applications.ts';
import { sendPolicy } from '../config/config.ts';
import { apiTaskQueue, leaseTaskQueue } from '../contract/ids.ts';
import { sendWithinMs } from '../domain/deadlines.ts';
import { TokenSeal } from '../encryption/token-seal.ts';
import { type Clock, repeat } from '../surroundings/surroundings.ts';
import { type ApplicationParts, activityWorker, type Runnable } from './activity-worker.ts';
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
  const { config, client, surroundings } = parts;
  const { clock } = surroundings;
  const { name: app, appId } = application;
  const environment = config.env.PAYMENTS_ENVIRONMENT;
  const place = { environment, app };
  const leasePlace = { environment, appId };
  const callsPerSecond = application.callsPerSecond ?? config.env.PAYMENTS_CALLS_PER_SECOND;
  const limiter = new RateLimiter(clock, config.env.PAYMENTS_ARRIVAL_JITTER);
  const activities = await callActivities(parts, application, limiter, callsPerSecond);
  const keeper = new LeaseKeeper(client, leasePlace, app, clock);
  const queues = new OwnedQueues({
    app,
    limiter,
    clock,
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
    activities: {
      ...leaseActivities({
        owner: queues,
        client,
        clock,
        recoveredAtMs: config.env.PAYOUTS_TEMPORAL_RECOVERED_AT,
      }),
    },
    slots: new LeaseSlot(appId, ownership, clock),
    polls: 1,
    graceTime: 0,
  });
  const server = new ApplicationServer({ lease, queues, keeper, clock, warm: activities.warm });
  return server;
}

interface ServerParts {
  lease: Runnable;
  queues: OwnedQueues;
  keeper: LeaseKeeper;
  clock: Clock;
  warm: () => void;
}

class ApplicationServer implements Runnable {
  private readonly parts: ServerParts;
  private failure: { error: unknown } | undefined;

  constructor(parts: ServerParts) {
    this.parts = parts;
  }

  /** Until it is shut down and everything under way has ended. */
  async run(): Promise<void> {
    const { lease, queues, keeper, clock, warm } = this.parts;
    keeper.look();
    warm();
    const stopWarming = repeat(clock, WARM_EVERY_MS, warm);
    try {
      await lease.run();
    } finally {
      stopWarming();
      keeper.stop();
    }
    await queues.finished();
    if (this.failure) throw this.failure.error;
  }

  shutdown(): void {
    this.parts.lease.shutdown();
  }

  getState() {
    return this.parts.lease.getState();
  }

  /** An owner that cannot serve must not stay the owner. */
  fail(error: unknown): void {
    this.failure = { error };
    if (this.getState() === 'RUNNING') this.shutdown();
  }
}

async function callActivities(
  { config, client, surroundings, transport }: ApplicationParts,
  application: Application,
  limiter: RateLimiter,
  callsPerSecond: number,
) {
  const place = { environment: config.env.PAYMENTS_ENVIRONMENT, app: application.name };
  const seal = new TokenSeal(config.keys.tokens, surroundings.random);
  const renewals = new TokenRenewals(client, surroundings);
  const tokens = new RenewedTokens(place, renewals, seal, surroundings);
  const service = await serviceClient(config, application, {
    tokens,
    gate: limiter,
    callsPerSecond,
    surroundings,
    ...(transport && { transport }),
  });
  const claim: Claim = (taskToken, details) => client.activity.heartbeat(taskToken, details);
  const shared = { ...place, client: service, surroundings };
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
      assertAttemptIsCurrent: claim,
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
): Promise<Runnable[]> {
  const common = { graceTime: SHUTDOWN_GRACE, buildId: `term-${term}` };
  return Promise.all([
    activityWorker(parts, {
      ...common,
      taskQueue: apiTaskQueue(environment, app),
      activities: { ...api },
      slots: new CallSlots(limiter, mostInFlight(parts.config, callsPerSecond), parts.surroundings.clock),
      polls: Math.min(MOST_POLLS, CallSlots.ahead(callsPerSecond)),
    }),
    ...tokenWorkers(parts, { environment, app }, callsPerSecond, { ...common, activities: { ...token } }),
  ]);
}
