/** Assembles the API server. */
import type { Client } from '@temporalio/client';
import fastify, { type FastifyInstance, LogController } from 'fastify';
import { Authorizations } from '../../client/authorizations.ts';
import type { ServiceConfig } from '../../config/service-config.ts';
import { createNotificationVerifier } from '../../payments/index.ts';
import { Drain } from '../../surroundings/drain.ts';
import { AuditLog } from './audit.ts';
import { clientsOf } from './clients.ts';
import { docsRoutes, problemRoutes } from './docs-routes.ts';
import {
  handleErrors,
  rejectConnection,
  rejectRequest,
  requestIdOf,
  sendRequestIds,
} from './error-mapping.ts';
import { ApiMetrics } from './metrics.ts';
import { failingWorkflowCount, healthRoutes, metricsRoute, temporalCheck } from './monitoring-routes.ts';
import { notificationRoute } from './notification-route.ts';
import { oauthRoutes } from './oauth-routes.ts';
import { operationsOf, serveOperations } from './operations.ts';
import { Receiver } from './receiver.ts';
import { ReloadedCallers } from './reloaded-callers.ts';

const MAX_BODY_BYTES = 64 * 1024;
/** For the complete request, so that slow bodies do not hold connections. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Throws `PaymentsSettingError` if the verifier cannot be set up. */
export async function buildServer(
  client: Client,
  config: ServiceConfig,
  drain = new Drain(),
): Promise<FastifyInstance> {
  const { keys, PAYMENTS_ENVIRONMENT: environment } = config;
  const verifier = await createNotificationVerifier(
    config.PAYMENTS_NOTIFICATION_VERIFIER,
    config.PAYMENTS_NOTIFICATION_SECRETS,
  );
  const server = fastify({
    // Standard output is reserved for the line with the address.
    logger: { level: config.PAYOUTS_LOG_LEVEL, stream: process.stderr },
    // Otherwise a flood of requests would flood the log. Routes log what matters.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    frameworkErrors: rejectRequest,
    clientErrorHandler: rejectConnection,
    genReqId: requestIdOf,
    // An id has 64 characters, percent-encoded as up to nine characters each.
    routerOptions: { maxParamLength: 1_000 },
    requestTimeout: REQUEST_TIMEOUT_MS,
    // By default, Node checks for timed-out requests only every 30 s.
    http: {
      connectionsCheckingInterval: 1_000,
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
    },
    forceCloseConnections: 'idle',
    // What arrives on an open connection while the server closes is served; the drain has a deadline.
    return503OnClosing: false,
  });
  sendRequestIds(server);
  drain.watch(server);
  const audit = new AuditLog(server.log, config.PAYOUTS_AUDIT_LOG);
  server.addHook('onClose', async () => audit.close());
  const metrics = new ApiMetrics();
  metrics.watch(server);
  const isReachable = temporalCheck(client);
  metrics.gauge('reachable', async () => ((await isReachable()) ? 1 : 0));
  metrics.gauge('tasksFailing', failingWorkflowCount(client, environment));
  handleErrors(server);
  healthRoutes(server, drain, isReachable);
  oauthRoutes(server, new Authorizations({ client, environment, keys: keys.tokens }));
  const receiver = new Receiver(client);
  server.addHook('onClose', async () => receiver.close());
  metrics.gauge('waiting', () => receiver.waiting);
  const fields = config.PAYMENTS_NOTIFICATION_FIELDS;
  notificationRoute(server, { receiver, verifier, fields, metrics });
  const clients = clientsOf(client, environment);
  // Before the server waits for open requests.
  server.addHook('preClose', async () => clients.waits.close());
  const operations = operationsOf(clients);
  const callers = new ReloadedCallers(config.callers, server.log);
  server.addHook('onClose', async () => callers.close());
  docsRoutes(server, operations, config.PAYOUTS_API_TRY_OUT);
  problemRoutes(server);
  metricsRoute(server, callers, audit, metrics.registry);
  serveOperations(server, callers, audit, operations);
  return server;
}
