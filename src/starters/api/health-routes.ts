/** `/healthz`: this process lives. `/readyz`: it reaches Temporal, so it can take work. */
import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { Problem } from './problem.ts';

const TEMPORAL_ANSWERS_WITHIN_MS = 3_000;

export function healthRoutes(server: FastifyInstance, client: Client): void {
  server.get('/healthz', async () => ({ status: 'ok' }));
  server.get('/readyz', async () => {
    if (!(await temporalAnswers(client))) throw new Problem(503, 'Temporal does not answer', 1);
    return { status: 'ok' };
  });
}

export async function temporalAnswers(client: Client): Promise<boolean> {
  try {
    await client.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, () =>
      client.workflowService.getSystemInfo({}),
    );
    return true;
  } catch {
    return false;
  }
}
