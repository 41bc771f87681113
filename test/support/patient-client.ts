/**
 * How the tests' own clients send queries: on a busy machine, no worker may take a query within the ten seconds that Temporal
 * waits, and then it is sent again. Other tests cover how the product handles that.
 */
import {
  type ClientInterceptors,
  isGrpcServiceError,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { clientInterceptors } from '../../src/temporal/queries.ts';
import { PATIENCE_MS } from './patience.ts';

const NO_WORKER_TOOK_IT = 'query timed out before a worker could process it';

const patientQueries: WorkflowClientInterceptor = {
  async query(input, next) {
    for (const begunMs = performance.now(); ; ) {
      try {
        return await next(input);
      } catch (error) {
        if (!wasNotTaken(error) || performance.now() - begunMs > PATIENCE_MS) throw error;
      }
    }
  },
};

function wasNotTaken(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((one) => isGrpcServiceError(one) && one.details === NO_WORKER_TOOK_IT);
}

/** For `new Client(…)`. */
export function patientInterceptors(): ClientInterceptors {
  const { workflow } = clientInterceptors(PROCESS_RUNTIME.clock);
  return { workflow: [patientQueries, ...(Array.isArray(workflow) ? workflow : [])] };
}
