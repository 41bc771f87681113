/** `npm run api`: the API server. Shuts down gracefully on SIGINT and SIGTERM. */
import { ConfigError } from '../../config/environment.ts';
import { serviceConfig } from '../../config/service-config.ts';
import { PaymentsSettingError } from '../../payments/index.ts';
import { connectClient, TemporalSetupError } from '../../temporal/connection.ts';
import { buildServer } from './server.ts';

async function main(): Promise<void> {
  const config = serviceConfig(process.env);
  const { client } = await connectClient();
  const server = await buildServer(client, config);
  // Leaves the connection open: retries of background calls throw on a closed connection (SDK 1.24).
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void server.close().then(() => process.exit()));
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
