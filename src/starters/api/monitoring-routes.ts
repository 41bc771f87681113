/** `GET /healthz`: the process runs. `GET /readyz`: it can serve requests. `GET /metrics`: metrics for Prometheus. */
import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { type Drain, PROCESS_SURROUNDINGS } from '../../runtime/process.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { requireVerb } from '../../service/permissions.ts';
import { Problem } from '../../service/problem.ts';
import { knownFailingWorkflows } from '../../temporal/failing-workflows.ts';
import type { AuditLog } from './audit.ts';
import { callerOf } from './callers.ts';
import type { ReloadedCallers } from './reloaded-callers.ts';

/** Shorter than the timeout of a scrape. */
const TEMPORAL_TIMEOUT_MS = 3_000;
const FAILING_COUNT_FRESH_MS = 60_000;
const REACHABLE_FRESH_MS = 1_000;

type Check = () => Promise<boolean>;

export function healthRoutes(server: FastifyInstance, drain: Drain, isReachable: Check): void {
  server.get('/healthz', async () => ({ status: 'ok' }));
  server.get('/readyz', async () => {
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

/** Requires a key with the verb `metrics`, because the same address is open to the provider. */
export function metricsRoute(
  server: FastifyInstance,
  callers: ReloadedCallers,
  audit: AuditLog,
  registry: Registry,
): void {
  server.get('/metrics', {
    exposeHeadRoute: false,
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
    () => REACHABLE_FRESH_MS,
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

/**
 * Shares a call among all who ask meanwhile, and its result for `freshMs` after it. A failure is not kept.
 */
export function cached<T>(
  read: () => Promise<T>,
  freshMs: (result: T) => number,
  clock: Clock = PROCESS_SURROUNDINGS.clock,
): () => Promise<T> {
  let last: { result: Promise<T>; untilMs: number } | undefined;
  return () => {
    if (last && clock.nowMs() < last.untilMs) return last.result;
    const next = { result: read(), untilMs: Number.POSITIVE_INFINITY };
    last = next;
    next.result.then(
      (result) => {
        next.untilMs = clock.nowMs() + freshMs(result);
      },
      () => {
        next.untilMs = 0;
      },
    );
    return next.result;
  };
}

async function unlessUnavailable<T>(client: Client, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, call);
  } catch {
    return undefined;
  }
}
