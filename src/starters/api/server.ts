/** The API server, put together. */
import type { Client } from '@temporalio/client';
import fastify, { type FastifyInstance, LogController } from 'fastify';
import { Authorizations } from '../../client/authorizations.ts';
import type { ServiceConfig } from '../../config/service-config.ts';
import { createNotificationVerifier } from '../../payments/index.ts';
import { docsRoutes } from './docs-routes.ts';
import { engineOf } from './engine.ts';
import { failingCount } from './failing-count.ts';
import { healthRoutes, temporalAnswers } from './health-routes.ts';
import { ServiceMetrics } from './metrics.ts';
import { metricsRoute } from './metrics-route.ts';
import { notificationRoute } from './notification-route.ts';
import { oauthRoutes } from './oauth-routes.ts';
import { operationsOf, serveOperations } from './operations.ts';
import { answerProblems, refuse } from './problems.ts';
import { Receiver } from './receiver.ts';

const MOST_BYTES = 64 * 1024;
/** A whole request has to be in by then, so that slow bodies hold nothing up. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Throws `PaymentsSettingError` when the verifier cannot be set up. */
export async function buildServer(client: Client, config: ServiceConfig): Promise<FastifyInstance> {
  const verifier = await createNotificationVerifier(
    config.PAYMENTS_NOTIFICATION_VERIFIER,
    config.PAYMENTS_NOTIFICATION_SECRETS,
  );
  const server = fastify({
    // Standard output is for the line that says where the service listens.
    logger: { level: config.PAYOUTS_LOG_LEVEL, stream: process.stderr },
    // A line for each request would be a line for each junk notification; routes log what matters.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MOST_BYTES,
    frameworkErrors: refuse,
    // 64 characters of a number, each written as up to nine.
    routerOptions: { maxParamLength: 1_000 },
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Node looks for requests that ran out of time only every 30 s by default.
    http: {
      connectionsCheckingInterval: 1_000,
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
    },
    forceCloseConnections: 'idle',
  });
  const metrics = new ServiceMetrics();
  metrics.watch(server);
  metrics.watchTemporal(() => temporalAnswers(client));
  metrics.watchWorkflowTasks(failingCount(client, config.PAYMENTS_ENVIRONMENT));
  answerProblems(server);
  healthRoutes(server, client);
  const { keys, PAYMENTS_ENVIRONMENT: environment } = config;
  oauthRoutes(server, new Authorizations({ client, environment, keys: keys.tokens }));
  const receiver = new Receiver(client);
  server.addHook('onClose', async () => receiver.close());
  metrics.watchReceiver(receiver);
  const fields = config.PAYMENTS_NOTIFICATION_FIELDS;
  notificationRoute(server, { receiver, verifier, fields, metrics });
  const operations = operationsOf(engineOf(client, config.PAYMENTS_ENVIRONMENT));
  docsRoutes(server, operations);
  metricsRoute(server, config.callers, metrics);
  serveOperations(server, config.callers, operations);
  return server;
}
