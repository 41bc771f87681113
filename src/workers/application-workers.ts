/** What serves one application: the queue of its API calls, and the queue of its token calls, under one budget. */

import type { Client } from '@temporalio/client';
import { type NativeConnection, Worker } from '@temporalio/worker';
import { temporalHistories } from '../activities/earlier-runs.ts';
import { serviceActivities } from '../activities/service-activities.ts';
import { tokenActivities } from '../activities/token-activities.ts';
import type { Application } from '../config/applications.ts';
import type { WorkerConfig } from '../config/config.ts';
import { apiTaskQueue, tokenTaskQueue } from '../domain/identity.ts';
import { dataConverter } from '../encryption/data-converter.ts';
import { TokenSeal } from '../encryption/token-seal.ts';
import { serviceClient } from './service-client.ts';
import { RenewedTokens } from './tokens/renewed-tokens.ts';
import { TokenRenewals } from './tokens/token-renewals.ts';

export interface ApplicationParts {
  config: WorkerConfig;
  connection: NativeConnection;
  client: Client;
  namespace: string;
}

/** What is under way may finish; an API call takes at most this long. */
export const SHUTDOWN_GRACE = '30s';
/** Of its own: however many calls wait for a token, the call that brings it never waits for them. */
const TOKEN_SLOTS = 2;

export async function applicationWorkers(
  parts: ApplicationParts,
  application: Application,
): Promise<Worker[]> {
  const { config, client } = parts;
  const place = { environment: config.env.PAYMENTS_ENVIRONMENT, app: application.name };
  const seal = new TokenSeal(config.keys.tokens);
  const renewals = new TokenRenewals(client);
  const tokens = new RenewedTokens(place, renewals, seal);
  const service = await serviceClient(config, application, tokens);
  const stillOurs = (taskToken: Uint8Array) => client.activity.heartbeat(taskToken);
  const api = serviceActivities({
    ...place,
    client: service,
    histories: temporalHistories(client),
    stillOurs,
  });
  const token = tokenActivities({
    ...place,
    client: service,
    seal,
    stillOurs,
    feed: (owner, accessToken, livesMs) => tokens.feed(owner, accessToken, livesMs),
    handOver: (owner, grant) => renewals.handOver(owner, grant),
  });
  // Whoever is fetched waits in this process and can no longer be overtaken, so no more than a second's worth.
  const slots = application.callsPerSecond ?? config.env.PAYMENTS_CALLS_PER_SECOND;
  return Promise.all([
    queueWorker(parts, apiTaskQueue(place.environment, place.app), { ...api }, slots),
    queueWorker(parts, tokenTaskQueue(place.environment, place.app), { ...token }, TOKEN_SLOTS),
  ]);
}

function queueWorker(
  { config, connection, namespace }: ApplicationParts,
  taskQueue: string,
  activities: object,
  slots: number,
): Promise<Worker> {
  return Worker.create({
    connection,
    namespace,
    taskQueue,
    activities,
    dataConverter: dataConverter(config.keys.payloads),
    maxConcurrentActivityTaskExecutions: slots,
    shutdownGraceTime: SHUTDOWN_GRACE,
  });
}
