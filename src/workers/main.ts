/** `npm run worker`: runs one worker process. SIGINT and SIGTERM shut it down. */
import { Worker } from '@temporalio/worker';
import { workerConfig } from '../config/config.ts';
import { ConfigError } from '../config/environment.ts';
import { startTracing } from '../observability/tracing.ts';
import { PROCESS_SURROUNDINGS } from '../surroundings/process.ts';
import { TemporalSetupError } from '../temporal/connection.ts';
import { registerSearchAttributes } from '../temporal/search-attributes.ts';
import { connectWorker } from '../temporal/worker-connection.ts';
import { keepDeliveries } from './deliveries.ts';
import { installRuntime } from './runtime.ts';
import { keepSchedules } from './schedules.ts';
import { keepRenewals } from './tokens/token-renewals.ts';
import { tracedWorker } from './trace-workers.ts';
import { createWorkers, runWorkers, shutDownOnSignal } from './worker.ts';
import { workflowBundle } from './workflow-bundle.ts';

async function main(): Promise<void> {
  const config = workerConfig(process.env);
  const { log, meter } = installRuntime(config.env);
  const stopTracing = await startTracing('worker', config.env);
  const surroundings = PROCESS_SURROUNDINGS;
  const { connection, client, namespace, address } = await connectWorker(surroundings);
  await registerSearchAttributes(connection, namespace);
  const workers = await createWorkers({
    ...{ config, client, surroundings, meter },
    createWorker: (options) => Worker.create({ ...options, ...tracedWorker, connection, namespace }),
    workflowBundle: await workflowBundle(config.env.PAYOUTS_WORKFLOW_BUNDLE),
  });
  const running = runWorkers(workers);
  shutDownOnSignal(workers, surroundings.clock);
  const stopRenewals = keepRenewals(client, config, surroundings, log);
  const stopSchedules = keepSchedules(client, config, surroundings.clock, log);
  const stopDeliveries = keepDeliveries(client, config, surroundings.clock, log);
  const apps = [...config.applications.keys()].join(', ');
  console.log(
    `worker ready: ${config.env.PAYMENTS_ENVIRONMENT}, applications ${apps}, Temporal ${address}/${namespace}`,
  );
  await running;
  stopRenewals();
  stopSchedules();
  stopDeliveries();
  await stopTracing();
  await connection.close();
}

main().catch((error: unknown) => {
  const expected = error instanceof ConfigError || error instanceof TemporalSetupError;
  console.error(expected ? error.message : error);
  process.exitCode = 1;
});
