/**
 * The common solution: the same workflows, but every worker process limits the queue of API calls with Temporal's own
 * `maxTaskQueueActivitiesPerSecond`, and calls are not spaced.
 */
import { Worker } from '@temporalio/worker';
import { temporalClientPairs } from '../src/activities/payout/client-pairs.ts';
import { runBegins, temporalHistories } from '../src/activities/payout/earlier-runs.ts';
import type { Claim } from '../src/activities/payout/send-once.ts';
import { preparation } from '../src/activities/shared/preparation.ts';
import { providerActivities } from '../src/activities/shared/provider-activities.ts';
import { tokenActivities } from '../src/activities/tokens/token-activities.ts';
import { tokenHistories } from '../src/activities/tokens/token-histories.ts';
import { sendPolicy, workerConfig } from '../src/config/config.ts';
import { apiTaskQueue, PAYOUTS_TASK_QUEUE, tokenTaskQueue } from '../src/contract/ids.ts';
import type { SharedSettings } from '../src/contract/rate-limit.ts';
import { NO_APPROVAL_POLICY } from '../src/domain/permissions.ts';
import { sendWithinMs } from '../src/domain/time.ts';
import { TokenSeal } from '../src/encryption/key-ring.ts';
import { dataConverter } from '../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../src/runtime/process.ts';
import { connectWorker } from '../src/temporal/worker-connection.ts';
import { providerClient } from '../src/workers/provider-client.ts';
import { installRuntime } from '../src/workers/telemetry.ts';
import { TokenCache } from '../src/workers/tokens/token-cache.ts';
import { TokenRenewals } from '../src/workers/tokens/token-renewals.ts';
import { bundleWorkflows } from '../src/workers/workflow-bundle.ts';

const runtime = PROCESS_RUNTIME;
const config = workerConfig(process.env);
installRuntime(config.env);
const { connection, client, namespace } = await connectWorker(runtime);
const application = config.applications.get('default');
if (!application) throw new Error('the plain worker serves the application "default"');
const place = { environment: config.env.PAYMENTS_ENVIRONMENT, app: application.name };
const limit = config.env.PAYMENTS_CALLS_PER_SECOND;
const seal = new TokenSeal(undefined, runtime.random);
const renewals = new TokenRenewals(client, runtime);
const tokens = new TokenCache({ place, source: renewals, seal, runtime });
const gate = { pass: async () => undefined };
const service = await providerClient(config, application, {
  tokens,
  gate,
  callsPerSecond: limit,
  runtime,
});
const claim: Claim = (taskToken, details) => client.activity.heartbeat(taskToken, details);
const about = { version: 1, by: 'bench', at: '', reason: 'no lease', failoverVersion: '0' };
const settings: SharedSettings = { ...about, recoveredAt: null, approvals: NO_APPROVAL_POLICY };
const shared = {
  ...place,
  client: service,
  claim,
  quoteCodes: new Map(),
  policy: sendPolicy(config.env, settings),
  runtime,
};
const looks = { recent: async () => ({ shared: settings }), current: async () => settings };
const prepared = preparation(config, looks, runBegins(client), runtime);
const common = { connection, namespace, dataConverter: dataConverter(undefined, runtime.random) };

const workers = await Promise.all([
  Worker.create({
    ...common,
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowBundle: await bundleWorkflows(),
    activities: prepared,
  }),
  Worker.create({
    ...common,
    taskQueue: apiTaskQueue(place.environment, place.app),
    activities: {
      ...providerActivities({
        ...shared,
        histories: temporalHistories(client),
        pairs: temporalClientPairs(client),
        prepare: prepared.preparePayout,
      }),
    },
    maxTaskQueueActivitiesPerSecond: limit,
  }),
  Worker.create({
    ...common,
    taskQueue: tokenTaskQueue(place.environment, place.app, 'application'),
    activities: {
      ...tokenActivities({
        ...shared,
        ...{ seal, codes: seal },
        sendWithinMs: sendWithinMs(config.env.PAYMENTS_CALL_TIMEOUT),
        histories: tokenHistories(client),
        cache: (owner, token, lifetimeMs) => tokens.put(owner, token, lifetimeMs),
        handOver: (owner, grant) => renewals.handOver(owner, grant),
      }),
    },
  }),
]);
console.log('plain worker ready');
await Promise.all(workers.map((worker) => worker.run()));
