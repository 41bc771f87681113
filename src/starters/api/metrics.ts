/** What the service counts of itself. No id and nothing that a caller wrote is ever a label: routes are patterns. */
import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Received, Receiver } from './receiver.ts';

/** `refused`: not verified. `unusable`: verified, and no notification. `not_taken`: the sender must try again. */
export type NotificationEnd = Received | 'refused' | 'unusable' | 'not_taken';

/** From what an answer out of memory takes to the longest that a route waits. */
const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** `action`: what deserves a look, and what to do then. `docs/reference.md` is written from this table. */
export const API_METRICS = {
  requests: {
    name: 'payouts_http_requests_total',
    help: 'Requests by route and answered status; route none: there is no such route',
    labelNames: ['method', 'route', 'status'],
    action: "Look at the API server's log when `status` of 500 or above grows.",
  },
  durations: {
    name: 'payouts_http_request_duration_seconds',
    help: 'From the first byte of a request to the last of its answer',
    labelNames: ['method', 'route'],
    action:
      'Run `npm run payouts -- doctor` when it nears 10 s (30 s where the provider is asked): a route then gives up.',
  },
  notifications: {
    name: 'payouts_notifications_total',
    help: 'Notifications by what became of them',
    labelNames: ['result'],
    action:
      'Check `PAYMENTS_NOTIFICATION_VERIFIER` and its secrets when `refused` grows, and `PAYMENTS_NOTIFICATION_FIELDS` when `unusable` grows.',
  },
  waiting: {
    name: 'payouts_notifications_waiting',
    help: 'Notifications for orders that nobody knows yet, kept to be looked up again',
    labelNames: [],
    action: 'When it stays up, ask the provider about the orders: no payout has them.',
  },
  reachable: {
    name: 'payouts_temporal_reachable',
    help: '1 where Temporal answers, else 0',
    labelNames: [],
    action:
      'Start Temporal when it is 0. It is asked at each scrape, for 3 s at most: scrape with a timeout of 5 s.',
  },
  tasksFailing: {
    name: 'payouts_workflow_tasks_failing',
    help: 'Open workflows whose workflow task keeps failing, and that stand still',
    labelNames: [],
    action: 'Repair the workflows that `npm run payouts -- list --attention` names when it is above 0.',
  },
} as const;

export class ServiceMetrics {
  private readonly registry = new Registry();
  private readonly registers = [this.registry];
  private readonly requests = new Counter({ ...API_METRICS.requests, registers: this.registers });
  private readonly durations = new Histogram({
    ...API_METRICS.durations,
    buckets: SECONDS,
    registers: this.registers,
  });
  private readonly notifications = new Counter({
    ...API_METRICS.notifications,
    registers: this.registers,
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // Known from the start, so that a first one is an increase.
    for (const result of ['delivered', 'ended', 'unknown', 'refused', 'unusable', 'not_taken'] as const)
      this.notifications.inc({ result }, 0);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Every answer of `server`, whatever its route. */
  watch(server: FastifyInstance): void {
    server.addHook('onResponse', async ({ method, routeOptions: { url } }, reply) => {
      const route = url?.replaceAll(/:(\w+)/g, '{$1}') ?? 'none';
      this.requests.inc({ method, route, status: reply.statusCode });
      this.durations.observe({ method, route }, reply.elapsedTime / 1_000);
    });
  }

  /** Asked at each scrape. */
  watchTemporal(answers: () => Promise<boolean>): void {
    new Gauge({
      ...API_METRICS.reachable,
      registers: this.registers,
      async collect() {
        this.set((await answers()) ? 1 : 0);
      },
    });
  }

  /** Asked at each scrape. `count` answers undefined where nobody can tell; there is no value then. */
  watchWorkflowTasks(count: () => Promise<number | undefined>): void {
    new Gauge({
      ...API_METRICS.tasksFailing,
      registers: this.registers,
      async collect() {
        const failing = await count();
        if (failing === undefined) this.remove();
        else this.set(failing);
      },
    });
  }

  watchReceiver(receiver: Receiver): void {
    new Gauge({
      ...API_METRICS.waiting,
      registers: this.registers,
      collect() {
        this.set(receiver.waiting);
      },
    });
  }

  notified(result: NotificationEnd): void {
    this.notifications.inc({ result });
  }

  /** Prometheus' text format. */
  async text(): Promise<string> {
    return this.registry.metrics();
  }
}
