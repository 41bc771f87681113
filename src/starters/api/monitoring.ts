/**
 * The metrics and the spans of the API server, and the routes that monitor it: `/healthz`, `/readyz` and `/metrics`. Labels
 * never contain ids or input of callers: a route is its pattern.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import { cached } from '../../client/shared-reads.ts';
import type { Listen } from '../../config/values.ts';
import type { AuditLog } from '../../http/audit.ts';
import { callerOf, type ReloadedCallers, type RequestLimit } from '../../http/authentication.ts';
import { routeOf } from '../../http/problems.ts';
import { isTraceParent, type Span } from '../../observability/trace.ts';
import { isTracing, startSpan, within } from '../../observability/tracing.ts';
import type { Drain } from '../../runtime/process.ts';
import { requireVerb } from '../../service/permissions.ts';
import { Problem } from '../../service/problem.ts';
import { knownFailingWorkflows } from '../../temporal/failing-workflows.ts';
import { RECEIVED } from './receiver.ts';

/** `limited`: beyond the rate limit of an address or an order. `refused`: not verified. `unusable`: not a notification. `not_taken`: the sender must send it again. */
const NOTIFICATION_RESULTS = [...RECEIVED, 'limited', 'refused', 'unusable', 'not_taken'] as const;
export type NotificationResult = (typeof NOTIFICATION_RESULTS)[number];

/** Up to the longest time that a route waits. */
const BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** `action`: when the metric needs attention, and what to do. `docs/reference.md` is generated from this table. */
export const API_METRICS = {
  requests: {
    name: 'payouts_http_requests_total',
    unit: 'request',
    help: 'Requests by route and response status. Requests that match no route have the route none',
    labelNames: ['method', 'route', 'status'],
    action: "Read the API server's log when `status` 500 or above grows.",
  },
  limited: {
    name: 'payouts_http_requests_limited_total',
    unit: 'request',
    help: 'Requests refused with 429, by limit: `key`, the requests of a caller, or `address`, the unknown keys of an address',
    labelNames: ['limit'],
    action:
      'The audit trail names the caller when `key` grows: raise its `requestsPerSecond`, or correct its program. Look for the sender in the log of your proxy when `address` grows.',
  },
  durations: {
    name: 'payouts_http_request_duration_seconds',
    unit: 'seconds',
    help: 'Time from the first byte of a request to the last byte of its response',
    labelNames: ['method', 'route'],
    action:
      'Run `payouts doctor` when it nears the timeout of 10 s (30 s for routes that need the provider). A read with `wait` adds up to 60 s.',
  },
  notifications: {
    name: 'payouts_notifications_total',
    unit: 'notification',
    help: 'Notifications by result',
    labelNames: ['result'],
    action:
      'Check `PAYMENTS_NOTIFICATION_VERIFIER` and its secrets when `refused` grows, and `PAYMENTS_NOTIFICATION_FIELDS` when `unusable` grows. When `limited` grows, set a verifier, or look for the sender in the log of your proxy.',
  },
  waiting: {
    name: 'payouts_notifications_waiting',
    unit: 'notification',
    help: 'Notifications that match no payout yet and are looked up again',
    labelNames: [],
    action: 'When it stays above 0, ask the provider about the orders: no payout has them.',
  },
  encrypted: {
    // As in workers, so that one query adds both.
    name: 'payouts_payloads_encrypted',
    unit: 'payload',
    help: 'Payloads that were encrypted, by the ID of the key',
    labelNames: ['key'],
    action: '[Rotate the key](operations.md#how-long-a-key-lasts) before it has encrypted 2^32 payloads.',
  },
  reachable: {
    name: 'payouts_temporal_reachable',
    unit: '1 or 0',
    help: '1 if Temporal responds and has the namespace, else 0',
    labelNames: [],
    action:
      'Restore Temporal when it is 0. Each scrape checks it for up to 3 s: scrape with a timeout of 5 s.',
  },
  tasksFailing: {
    name: 'payouts_workflow_tasks_failing',
    unit: 'workflow',
    help: 'Stuck workflows: open workflows whose workflow task keeps failing',
    labelNames: [],
    action: 'Repair the workflows that `payouts list --attention` names when it is above 0.',
  },
} as const;

export class ApiMetrics {
  readonly registry = new Registry();
  private readonly registers = [this.registry];
  private readonly requests = new Counter({ ...API_METRICS.requests, registers: this.registers });
  private readonly durations = new Histogram({
    ...API_METRICS.durations,
    buckets: BUCKETS_SECONDS,
    registers: this.registers,
  });
  private readonly limited = new Counter({ ...API_METRICS.limited, registers: this.registers });
  private readonly notifications = new Counter({
    ...API_METRICS.notifications,
    registers: this.registers,
  });

  private readonly encrypted = new Counter({ ...API_METRICS.encrypted, registers: this.registers });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // Initialized, so that the first event of each kind shows as an increase.
    for (const limit of ['key', 'address'] as const) this.limited.inc({ limit }, 0);
    for (const result of NOTIFICATION_RESULTS) this.notifications.inc({ result }, 0);
  }

  watch(server: FastifyInstance): void {
    server.addHook('onResponse', async (request, reply) => {
      const [method, route] = [request.method, routeOf(request)];
      this.requests.inc({ method, route, status: reply.statusCode });
      this.durations.observe({ method, route }, reply.elapsedTime / 1_000);
    });
  }

  /** Calls `read` at each scrape. While it resolves with undefined, the metric has no value. */
  gauge(
    metric: 'reachable' | 'tasksFailing' | 'waiting',
    read: () => number | Promise<number | undefined>,
  ): void {
    new Gauge({
      ...API_METRICS[metric],
      registers: this.registers,
      async collect() {
        const value = await read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  }

  countEncrypted(key: string): void {
    this.encrypted.inc({ key });
  }

  countLimited(limit: RequestLimit): void {
    this.limited.inc({ limit });
  }

  countNotification(result: NotificationResult): void {
    this.notifications.inc({ result });
  }
}

export function requestSpans(server: FastifyInstance): void {
  if (!isTracing()) return;
  const open = new WeakMap<object, Span>();
  server.addHook('onRequest', (request, _reply, done) => {
    const { traceparent } = request.headers;
    const route = routeOf(request);
    const span = startSpan({
      name: `${request.method} ${route}`,
      kind: 'server',
      parent: isTraceParent(traceparent) ? traceparent : undefined,
      attributes: {
        'http.request.method': request.method,
        'http.route': route,
        'payouts.request.id': request.id,
      },
    });
    if (!span) return done();
    open.set(request, span);
    within(span, done);
  });
  server.addHook('onResponse', async (request, { statusCode }) => {
    const problem = statusCode >= 500 ? `HTTP_${statusCode}` : undefined;
    open.get(request)?.end({ 'http.response.status_code': statusCode }, problem);
  });
}

/** Shorter than the timeout of a scrape. */
const TEMPORAL_TIMEOUT_MS = 3_000;
const FAILING_COUNT_FRESH_MS = 60_000;
const REACHABLE_FRESH_MS = 1_000;

type Check = () => Promise<boolean>;

const ok = z.strictObject({ status: z.literal('ok').describe('always ok') });
const HEALTHZ = {
  summary: 'Liveness',
  responses: { 200: { description: 'the process runs', schema: ok } },
};
const READYZ = {
  summary: 'Readiness',
  responses: {
    200: {
      description: 'the namespace in Temporal can be used. Checked at most once per second',
      schema: ok,
    },
  },
  problems: { 503: 'Temporal or the namespace cannot be used, or the process is about to end' },
};
const METRICS = {
  summary: 'Metrics for Prometheus',
  responses: { 200: { description: 'text format', type: 'text/plain' } },
  problems: {
    401: 'the key is missing, unknown or expired',
    403: 'the key lacks the permission',
    429: 'too many unknown keys from this address',
  },
};

export function healthRoutes(server: FastifyInstance, drain: Drain, isReachable: Check): void {
  server.get('/healthz', { schema: HEALTHZ, exposeHeadRoute: true }, async () => ({ status: 'ok' }));
  server.get('/readyz', { schema: READYZ, exposeHeadRoute: true }, async () => {
    const retry = { retryAfterSeconds: 1 };
    if (drain.hasBegun) throw new Problem('shutting-down', 'this API server is about to end', retry);
    if (!(await isReachable()))
      throw new Problem(
        'temporal-unavailable',
        'Temporal does not respond, or the namespace cannot be used',
        retry,
      );
    return { status: 'ok' };
  });
}

const MONITORED = ['/healthz', '/readyz', '/metrics'];

/** Serves the routes that monitor the process on a port of their own, which no flood of other requests reaches. */
export async function serveMonitoring(server: FastifyInstance, { host, port }: Listen): Promise<void> {
  const own = createServer((request, response) => {
    if (MONITORED.includes(request.url ?? '')) server.routing(request, response);
    else response.writeHead(404).end();
  });
  server.addHook('onClose', async () => {
    own.close();
    own.closeAllConnections();
  });
  await server.ready();
  own.listen(port, host);
  await once(own, 'listening');
}

/** Requires a key with the permission `metrics`, because the same address is open to the provider. */
export function metricsRoute(
  server: FastifyInstance,
  callers: ReloadedCallers,
  audit: AuditLog,
  registry: Registry,
): void {
  server.get('/metrics', {
    config: { verb: 'metrics' },
    schema: METRICS,
    onRequest: async (request) => requireVerb(callerOf(callers, request), 'metrics'),
    onSend: audit.recorder({ method: 'GET', path: '/metrics', verb: 'metrics', refusedOnly: true }),
    handler: async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()),
  });
}

/** Whether the namespace can be used. Calls Temporal at most once per second, however many callers there are. */
export function temporalCheck(client: Client): Check {
  const { namespace } = client.options;
  return cached(
    () =>
      unlessUnavailable(client, () => client.workflowService.describeNamespace({ namespace })).then(Boolean),
    REACHABLE_FRESH_MS,
  );
}

/**
 * Counts the workflows whose workflow task keeps failing. Caches the count for a minute, however many scrapers there are.
 * Undefined if neither Temporal nor a reconciliation has searched for them, or if Temporal does not respond.
 */
export function failingWorkflowCount(client: Client, environment: string): () => Promise<number | undefined> {
  const count = async () =>
    (await unlessUnavailable(client, () => knownFailingWorkflows(client, environment)))?.length;
  return cached(count, (known) => (known === undefined ? 0 : FAILING_COUNT_FRESH_MS));
}

async function unlessUnavailable<T>(client: Client, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, call);
  } catch {
    return undefined;
  }
}
