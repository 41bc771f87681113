/** Runs one application in one process, and serves its calls while this process owns its rate-limit lease. */
import type { Client } from '@temporalio/client';
import { temporalClientPairs } from '../activities/payout/client-pairs.ts';
import { temporalHistories } from '../activities/payout/earlier-runs.ts';
import type { Claim } from '../activities/payout/send-once.ts';
import { payoutCheck } from '../activities/shared/preparation.ts';
import { providerActivities } from '../activities/shared/provider-activities.ts';
import { tokenActivities } from '../activities/tokens/token-activities.ts';
import { tokenHistories } from '../activities/tokens/token-histories.ts';
import type { Application } from '../config/applications.ts';
import { sendPolicy } from '../config/config.ts';
import { leaseTaskQueue } from '../contract/ids.ts';
import { sendWithinMs } from '../domain/time.ts';
import { TokenSeal } from '../encryption/key-ring.ts';
import { repeat } from '../runtime/runtime.ts';
import { failoverVersionOf, NEVER_FAILS_OVER } from '../temporal/namespace.ts';
import { type ApplicationParts, activityWorker, type Runnable, shutDown } from './activity-worker.ts';
import { type Collection, collectorOf } from './collector.ts';
import { leaseKeeper } from './kept-workflows.ts';
import { callObserver, providerClient } from './provider-client.ts';
import { leaseActivities } from './rate-limit/lease.ts';
import { RateLimiter } from './rate-limit/limiter.ts';
import { OwnedQueues, type OwnedTerm, type Ownership } from './rate-limit/ownership.ts';
import { leaseSlot } from './rate-limit/slots.ts';
import { callQueues } from './task-queues.ts';
import { TokenCache } from './tokens/token-cache.ts';
import { TokenRenewals } from './tokens/token-renewals.ts';

/** Costs nothing while the token is fresh. */
const WARM_UP_EVERY_MS = 5_000;

export async function applicationWorker(
  parts: ApplicationParts,
  application: Application,
  ownership: Ownership,
  collection?: Collection,
): Promise<Runnable> {
  const { config, client, runtime } = parts;
  const { clock } = runtime;
  const { env } = config;
  const { name: app, appId, callsPerSecond = env.PAYMENTS_CALLS_PER_SECOND } = application;
  const key = { environment: env.PAYMENTS_ENVIRONMENT, appId };
  const limiter = new RateLimiter(clock, env.PAYMENTS_CALL_TIMEOUT);
  const { callsIn, warmUp, tokens } = await providerCalls(parts, application, limiter, callsPerSecond);
  const collector = collection && collectorOf(collection, { app, limiter, tokens });
  const keeper = leaseKeeper(client, key, app, clock);
  const owner = new OwnedQueues({
    app,
    key,
    limiter,
    ownership,
    clock,
    callsPerSecond,
    createWorkers: (term) =>
      Promise.all(
        callQueues(parts, app, callsIn(term), limiter, term).map((queue) =>
          activityWorker(parts, queue, `term-${term.number}`),
        ),
      ),
    onBegin: () => {
      warmUp();
      collector?.begin();
    },
    onEnd: () => {
      keeper.check();
      collector?.end();
    },
    // An owner that cannot serve must not remain the owner.
    onFailure: () => shutDown(lease),
  });
  const lease = await activityWorker(parts, {
    taskQueue: leaseTaskQueue(key.environment, appId),
    activities: leaseActivities({ owner, client, clock }),
    slots: leaseSlot(appId, ownership, clock),
    polls: 1,
    shutdownGraceTime: 0,
  });

  return {
    getState: () => lease.getState(),
    shutdown: () => lease.shutdown(),
    /** Resolves after the shutdown, when all running activities have ended. */
    async run() {
      keeper.check();
      warmUp();
      // Also without the lease: if its owner freezes while it renews the token, Temporal gives no token for a while.
      const stopWarmUps = repeat(clock, WARM_UP_EVERY_MS, warmUp);
      try {
        await lease.run();
      } finally {
        stopWarmUps();
        keeper.stop();
      }
      await owner.finished();
    },
  };
}

/** The activities that call the provider, and `warmUp`, which fetches the token before a call needs it. */
async function providerCalls(
  { config, client, runtime, transport, meter }: ApplicationParts,
  application: Application,
  gate: RateLimiter,
  callsPerSecond: number,
) {
  const { env, keys } = config;
  const place = { environment: env.PAYMENTS_ENVIRONMENT, app: application.name };
  const seal = new TokenSeal(keys.tokens, runtime.random);
  const renewals = new TokenRenewals(client, runtime);
  const tokens = new TokenCache({ place, source: renewals, seal, runtime });
  const provider = await providerClient(config, application, {
    tokens,
    gate,
    callsPerSecond,
    runtime,
    onCall: callObserver(application.name, runtime.clock, meter),
    ...(transport && { transport }),
  });
  const claim: Claim = (taskToken, details) => client.activity.heartbeat(taskToken, details);
  const common = { ...place, client: provider, claim, runtime };
  // What it has learned outlasts a term.
  const pairs = temporalClientPairs(client);
  const token = tokenActivities({
    ...common,
    seal,
    codes: new TokenSeal(keys.authorizations, runtime.random),
    histories: tokenHistories(client),
    sendWithinMs: sendWithinMs(env.PAYMENTS_CALL_TIMEOUT),
    cache: (owner, accessToken, lifetimeMs) => tokens.put(owner, accessToken, lifetimeMs),
    handOver: (owner, grant) => renewals.handOver(owner, grant),
  });
  const usesToken = [env.PAYMENTS_GATEWAY_TOKEN, env.PAYMENTS_TRADE_TOKEN].includes('application');
  return {
    tokens,
    // If it fails, the calls fetch the token, and report why they cannot.
    warmUp: () => {
      if (usesToken) tokens.token({ kind: 'application' }).catch(() => undefined);
    },
    callsIn: (term: OwnedTerm) => ({
      token,
      api: providerActivities({
        ...common,
        claim: claimIn(term, client, claim),
        policy: term.shared && sendPolicy(env, term.shared),
        quoteCodes: env.PAYMENTS_QUOTE_CODES,
        histories: temporalHistories(client),
        pairs,
        prepare: payoutCheck(config, async () => term.shared),
      }),
    }),
  };
}

/**
 * Only in the term whose settings allowed the send, and only in a namespace that has not failed over since they were set:
 * Temporal may have lost that it was sent before.
 */
function claimIn({ isValid, shared }: OwnedTerm, client: Client, claim: Claim): Claim {
  const isFailedOver = async () =>
    shared?.failoverVersion !== NEVER_FAILS_OVER &&
    shared?.failoverVersion !== (await failoverVersionOf(client));
  return async (taskToken, details) => {
    const [failedOver] = await Promise.all([isFailedOver(), claim(taskToken, details)]);
    if (failedOver || !isValid()) throw new Error('the settings of this term no longer apply');
  };
}
