/** `npm run codec-server`: decodes payloads for the Temporal UI. Shuts down gracefully on SIGINT and SIGTERM. */
import { codecConfig } from '../config/codec-config.ts';
import { ConfigError } from '../config/environment.ts';
import { buildCodecServer } from './server.ts';

async function main(): Promise<void> {
  const config = codecConfig(process.env);
  const server = await buildCodecServer(config);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.close());
  console.log(`codec server listening on ${await server.listen(config.listen)}`);
}

main().catch((error: unknown) => {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
});
