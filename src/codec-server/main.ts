/** `npm run codec-server`: decodes payloads for the Temporal UI. SIGINT and SIGTERM drain it. */
import { codecConfig } from '../config/codec-config.ts';
import { ConfigError } from '../config/environment.ts';
import { Drain, drainOnSignals, PROCESS_RUNTIME } from '../runtime/process.ts';
import { buildCodecServer } from './server.ts';

async function main(): Promise<void> {
  const config = codecConfig(process.env);
  const drain = new Drain();
  const server = await buildCodecServer(config, { drain });
  drainOnSignals(server, drain, { clock: PROCESS_RUNTIME.clock, drainMs: config.PAYOUTS_DRAIN });
  console.log(`codec server listening on ${await server.listen(config.PAYOUTS_CODEC_LISTEN)}`);
}

main().catch((error: unknown) => {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
});
