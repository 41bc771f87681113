/** `npm run api`: the API server. SIGINT and SIGTERM drain it. */

import { apiConfig } from '../../config/api-config.ts';
import { ConfigError } from '../../config/environment.ts';
import { startTracing } from '../../observability/tracing.ts';
import { PaymentsSettingError } from '../../payments/errors.ts';
import { Drain, drainOnSignals, PROCESS_RUNTIME } from '../../runtime/process.ts';
import { connectClient, TemporalSetupError } from '../../temporal/connection.ts';
import { serveMonitoring } from './monitoring.ts';
import { buildServer } from './server.ts';

async function main(): Promise<void> {
  const config = apiConfig(process.env);
  const stopTracing = await startTracing('api', config);
  const { client } = await connectClient({ payloadKeys: config.keys.payloads });
  const drain = new Drain();
  const server = await buildServer(client, config, { drain });
  server.addHook('onClose', stopTracing);
  drainOnSignals(server, drain, { clock: PROCESS_RUNTIME.clock, drainMs: config.PAYOUTS_DRAIN });
  const { PAYOUTS_HEALTH_LISTEN: monitoring } = config;
  if (monitoring) await serveMonitoring(server, monitoring);
  const url = await server.listen(config.PAYOUTS_API_LISTEN);
  console.log(`API server listening on ${url}`);
}

main().catch((error: unknown) => {
  const expected = [ConfigError, PaymentsSettingError, TemporalSetupError].some(
    (kind) => error instanceof kind,
  );
  console.error(expected && error instanceof Error ? error.message : error);
  process.exit(1);
});
