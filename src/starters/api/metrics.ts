/** The metrics of the API server. Labels never contain ids or input of callers: a route is its pattern. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Received } from './receiver.ts';
import type { RequestLimit } from './request-limits.ts';

/** `limited`: beyond the rate limit of an address or an order. `refused`: not verified. `unusable`: not a notification. `not_taken`: the sender must send it again. */
export type NotificationResult = Received | 'limited' | 'refused' | 'unusable' | 'not_taken';

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
      'Run `npm run payouts -- doctor` when it nears the timeout of 10 s (30 s for routes that need the provider). A read with `wait` adds up to 60 s.',
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
    action: 'Repair the workflows that `npm run payouts -- list --attention` names when it is above 0.',
  },
} as const;

/** In OpenAPI notation; `none` if no route matches. */
export function routeOf({ routeOptions: { url } }: FastifyRequest): string {
  return url?.replaceAll(/:(\w+)/g, '{$1}') ?? 'none';
}

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

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // Initialized, so that the first event of each kind shows as an increase.
    for (const limit of ['key', 'address'] as const) this.limited.inc({ limit }, 0);
    for (const result of [
      'delivered',
      'ended',
      'unknown',
      'limited',
      'refused',
      'unusable',
      'not_taken',
    ] as const)
      this.notifications.inc({ result }, 0);
  }

  /** Counts the responses of all routes. */
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

  countLimited(limit: RequestLimit): void {
    this.limited.inc({ limit });
  }

  countNotification(result: NotificationResult): void {
    this.notifications.inc({ result });
  }
}
