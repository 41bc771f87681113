/** `GET /healthz`: the process runs. `GET /readyz`: Temporal responds. `GET /metrics`: metrics for Prometheus. */
import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Callers } from '../../config/callers.ts';
import { knownFailingWorkflows } from '../../temporal/failing-workflows.ts';
import type { AuditLog } from './audit.ts';
import { callerOf, requireVerb } from './callers.ts';
import { Problem } from './problem.ts';

/** Shorter than the timeout of a scrape. */
const TEMPORAL_TIMEOUT_MS = 3_000;
const FAILING_COUNT_FRESH_MS = 60_000;

export function healthRoutes(server: FastifyInstance, client: Client): void {
  server.get('/healthz', async () => ({ status: 'ok' }));
  server.get('/readyz', async () => {
    if (!(await isTemporalReachable(client))) throw new Problem(503, 'Temporal does not respond', 1);
    return { status: 'ok' };
  });
}

/** Requires a key with the verb `metrics`, because the same address is open to the provider. */
export function metricsRoute(
  server: FastifyInstance,
  callers: Callers,
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

export async function isTemporalReachable(client: Client): Promise<boolean> {
  const info = await unlessUnavailable(client, () => client.workflowService.getSystemInfo({}));
  return info !== undefined;
}

/**
 * Counts the workflows whose workflow task keeps failing. Caches the count for a minute, however many scrapers there are.
 * Undefined if neither Temporal nor a reconciliation has searched for them, or if Temporal does not respond.
 */
export function failingWorkflowCount(client: Client, environment: string): () => Promise<number | undefined> {
  let cached: { count: Promise<number | undefined>; untilMs: number } | undefined;
  return async () => {
    if (cached && performance.now() < cached.untilMs) return cached.count;
    const failing = unlessUnavailable(client, () => knownFailingWorkflows(client, environment));
    const count = failing.then((found) => found?.length);
    cached = { count, untilMs: performance.now() + FAILING_COUNT_FRESH_MS };
    if ((await count) === undefined) cached = undefined;
    return count;
  };
}

async function unlessUnavailable<T>(client: Client, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, call);
  } catch {
    return undefined;
  }
}
