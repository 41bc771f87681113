/** `npm run worker`: runs one worker process. SIGINT and SIGTERM shut it down. */
import { Worker } from '@temporalio/worker';
import { workerConfig } from '../config/config.ts';
import { ConfigError } from '../config/environment.ts';
import { hostInUrl } from '../config/values.ts';
import { count, logEvent, setGauge } from '../domain/telemetry.ts';
import { eventLogger } from '../observability/log.ts';
import { startTracing } from '../observability/tracing.ts';
import { Drain, onStopSignals, PROCESS_RUNTIME } from '../runtime/process.ts';
import { TemporalSetupError } from '../temporal/connection.ts';
import { registerSearchAttributes } from '../temporal/namespace.ts';
import { connectWorker } from '../temporal/worker-connection.ts';
import { serveHealth } from './health.ts';
import { keepDeliveries, keepSchedules } from './kept-workflows.ts';
import { installRuntime, tracedWorker } from './telemetry.ts';
import { keepRenewals } from './tokens/token-renewals.ts';
import { createWorkers, isRunning, type ProcessWorkers, runWorkers, shutDownInOrder } from './worker.ts';
import { workflowBundle } from './workflow-bundle.ts';

async function main(): Promise<void> {
  const config = workerConfig(process.env);
  const { env, keys } = config;
  const { log, meter } = installRuntime(env);
  if (meter && keys.payloads)
    keys.payloads.onEncrypt = (key) => count(meter, 'payouts_payloads_encrypted', { key });
  const runtime = PROCESS_RUNTIME;
  const { clock } = runtime;
  // The monotonic clock of a process counts from its start.
  const startedMs = clock.wallMs() - clock.nowMs();
  if (meter) setGauge(meter, 'process_start_time_seconds', {}, startedMs / 1_000);
  // The bundle is made while Temporal responds.
  const [stopTracing, temporal, bundle] = await Promise.all([
    startTracing('worker', env),
    connectWorker(PROCESS_RUNTIME, keys.payloads),
    workflowBundle(env.PAYOUTS_WORKFLOW_BUNDLE),
  ]);
  const { connection, client, namespace, address } = temporal;
  await registerSearchAttributes(connection, namespace);
  const drain = new Drain();
  let workers: ProcessWorkers | undefined;
  const parts = { drain, clock, client, isRunning: () => workers !== undefined && isRunning(workers) };
  const { PAYOUTS_HEALTH_LISTEN: listen } = env;
  const stopHealth = listen === undefined ? () => undefined : await serveHealth(listen, parts);
  workers = await createWorkers({
    config,
    client,
    runtime,
    ...(meter && { meter }),
    createWorker: (options) => Worker.create({ ...options, ...tracedWorker, connection, namespace }),
    workflowBundle: bundle,
  });
  const running = runWorkers(workers);
  const started = workers;
  const stopDeadline = onStopSignals(
    drain,
    { clock, drainMs: env.PAYOUTS_DRAIN },
    {
      stop: () => void shutDownInOrder(started, clock),
      late: () => console.error('calls did not finish within PAYOUTS_DRAIN'),
    },
  );
  const stopKeeping = [
    keepRenewals(client, config, runtime, log),
    keepSchedules(client, config, clock, log),
    keepDeliveries(client, config, clock, log),
  ];
  const { PAYMENTS_ENVIRONMENT: environment, PAYOUTS_METRICS_LISTEN: metrics } = env;
  const { identity } = workers;
  const apps = [...config.applications.keys()];
  const health = listen && `${hostInUrl(listen.host)}:${listen.port}`;
  console.log(
    [
      `worker ready: ${environment}, applications ${apps.join(', ')}, Temporal ${address}/${namespace}`,
      `identity ${identity}`,
      ...(metrics === undefined ? [] : [`metrics ${metrics}`]),
      ...(health === undefined ? [] : [`health ${health}`]),
    ].join(', '),
  );
  logEvent(eventLogger(log), 'worker.ready', { identity, environment, apps, metrics, health });
  await running;
  for (const stop of [...stopKeeping, stopDeadline, stopHealth]) stop();
  await stopTracing();
  await connection.close();
}

main().catch((error: unknown) => {
  const expected = error instanceof ConfigError || error instanceof TemporalSetupError;
  console.error(expected ? error.message : error);
  // What still runs would keep half a worker alive.
  process.exit(1);
});
