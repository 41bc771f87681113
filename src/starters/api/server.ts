/** Assembles the API server. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Client } from '@temporalio/client';
import fastify, { type FastifyInstance, LogController } from 'fastify';
import type { ApiConfig } from '../../config/api-config.ts';
import { deskRoutes } from '../../desk/desk.ts';
import { AuditLog } from '../../http/audit.ts';
import { ReloadedCallers, RequestLimits, requireOneHeader } from '../../http/authentication.ts';
import { limitBodies } from '../../http/bodies.ts';
import { limitConnections } from '../../http/connections.ts';
import {
  handleErrors,
  rejectConnection,
  rejectRequest,
  requestIdOf,
  sendRequestIds,
} from '../../http/problems.ts';
import { logOptions } from '../../observability/log.ts';
import { createNotificationVerifier } from '../../payments/index.ts';
import { connectionLimits, Drain, PROCESS_RUNTIME } from '../../runtime/process.ts';
import { type Clock, repeat } from '../../runtime/runtime.ts';
import { Service } from '../../service/service.ts';
import { accountRoutes } from './account-routes.ts';
import { applicationRoutes } from './application-routes.ts';
import { batchRoutes } from './batch-routes.ts';
import {
  ApiMetrics,
  failingWorkflowCount,
  healthRoutes,
  metricsRoute,
  requestSpans,
  temporalCheck,
} from './monitoring.ts';
import { notificationRoute } from './notifications.ts';
import { oauthRoutes } from './oauth-routes.ts';
import { documentRoutes } from './openapi.ts';
import { payoutRoutes } from './payout-routes.ts';
import { Receiver } from './receiver.ts';
import { problemRoutes, referenceRoutes } from './reference.ts';
import { serveOperations } from './routes.ts';
import { statementRoutes } from './statement-routes.ts';

const MAX_BODY_BYTES = 64 * 1024;
/** From the response to its last byte; a large one has more time. */
const RESPONSE_TIMEOUT_MS = 30_000;
/** 1 Mbit/s. */
const BYTES_PER_MS = 125;
/** For 40 MiB at 1 Mbit/s, with a key. */
const UPLOAD_TIMEOUT_MS = 10 * 60_000;

export interface ApiServerOptions {
  drain?: Drain | undefined;
  /** The clock of rate limits, deadlines and cached reads. Default: that of the process. */
  clock?: Clock;
  /** The time for a complete request without a key, so that slow clients do not hold connections. Default 10,000. */
  requestTimeoutMs?: number;
}

/** Throws `PaymentsSettingError` if the verifier cannot be set up. */
export async function buildServer(
  client: Client,
  config: ApiConfig,
  options: ApiServerOptions = {},
): Promise<FastifyInstance> {
  const { drain = new Drain(), clock = PROCESS_RUNTIME.clock, requestTimeoutMs = 10_000 } = options;
  const environment = config.PAYMENTS_ENVIRONMENT;
  const verifier = await createNotificationVerifier(
    config.PAYMENTS_NOTIFICATION_VERIFIER,
    config.PAYMENTS_NOTIFICATION_SECRETS,
  );
  const server = fastify({
    // Standard output is reserved for the line with the address.
    logger: logOptions('api', config),
    // Otherwise a flood of requests would flood the log. Routes log what matters.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    frameworkErrors: rejectRequest,
    clientErrorHandler: rejectConnection,
    genReqId: requestIdOf,
    exposeHeadRoutes: false,
    // An id has 64 characters, percent-encoded as up to nine characters each.
    routerOptions: { maxParamLength: 1_000 },
    trustProxy: [...config.PAYOUTS_API_PROXIES],
    ...connectionLimits(UPLOAD_TIMEOUT_MS, requestTimeoutMs),
  });
  limitConnections(server, { proxies: config.PAYOUTS_API_PROXIES, clock, bodyTimeoutMs: requestTimeoutMs });
  limitBodies(server);
  limitResponseTimes(server, clock);
  server.addHook('onRequest', async (request) => requireOneHeader(request, 'host'));
  sendRequestIds(server);
  drain.watch(server);
  requestSpans(server);
  documentRoutes(server);
  const audit = new AuditLog(server.log, config.PAYOUTS_AUDIT_LOG);
  server.addHook('onClose', async () => audit.close());
  const metrics = new ApiMetrics();
  metrics.watch(server);
  const { payloads } = config.keys;
  if (payloads) payloads.onEncrypt = (key) => metrics.countEncrypted(key);
  const isReachable = temporalCheck(client);
  metrics.gauge('reachable', async () => ((await isReachable()) ? 1 : 0));
  metrics.gauge('tasksFailing', failingWorkflowCount(client, environment));
  const toProblem = handleErrors(server);
  healthRoutes(server, drain, isReachable);
  const receiver = new Receiver(client, clock);
  server.addHook('onClose', async () => receiver.close());
  metrics.gauge('waiting', () => receiver.waiting);
  const service = new Service(client, config, clock);
  oauthRoutes(server, service.authorizations, clock);
  // Before the server waits for open requests.
  server.addHook('preClose', async () => service.waits.close());
  const limits = new RequestLimits({
    requestsPerSecond: config.PAYOUTS_API_REQUESTS_PER_SECOND,
    clock,
    onLimited: (limit) => metrics.countLimited(limit),
  });
  const callers = new ReloadedCallers(config.callers, server.log, limits);
  server.addHook('onClose', async () => callers.close());
  const { PAYMENTS_NOTIFICATION_FIELDS: fields, PAYMENTS_NOTIFICATION_RECEIPT: receipt } = config;
  notificationRoute(server, { receiver, verifier, fields, receipt, metrics, clock, callers });
  referenceRoutes(server, {
    canSend: config.PAYOUTS_API_TRY_OUT === 'on',
    hasDesk: config.PAYOUTS_DESK === 'on',
  });
  problemRoutes(server);
  metricsRoute(server, callers, audit, metrics.registry);
  serveOperations(server, callers, audit, (api) => {
    payoutRoutes(api, service);
    batchRoutes(api, service);
    accountRoutes(api, service);
    applicationRoutes(api, service);
    statementRoutes(api, service, callers);
  });
  if (config.PAYOUTS_DESK === 'on') {
    const runtime = { ...PROCESS_RUNTIME, clock };
    deskRoutes(server, { client, service, callers, config, audit, runtime, toProblem });
  }
  return server;
}

/** Closes the connection of a client that does not read its response in time, or, of a stream, stops reading. */
function limitResponseTimes(server: FastifyInstance, clock: Clock): void {
  server.addHook('onSend', async (_request, { raw }, payload) => {
    const end = () => raw.destroy();
    const bytes = typeof payload === 'string' ? Buffer.byteLength(payload) : 0;
    const cancel =
      payload instanceof Readable
        ? whenStalled(raw, clock, end)
        : clock.after(RESPONSE_TIMEOUT_MS + bytes / BYTES_PER_MS, end);
    raw.once('finish', cancel).once('close', cancel);
    return payload;
  });
}

function whenStalled(raw: ServerResponse, clock: Clock, end: () => void): () => void {
  let before: number | undefined;
  return repeat(clock, RESPONSE_TIMEOUT_MS, () => {
    const written = raw.writableNeedDrain ? raw.socket?.bytesWritten : undefined;
    if (written !== undefined && written === before) end();
    before = written;
  });
}
