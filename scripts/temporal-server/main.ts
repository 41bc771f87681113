/**
 * `npm run temporal-server [-- COMMAND ARGUMENT…]`: starts the production Temporal server with PostgreSQL. Runs the
 * command against it (TEMPORAL_ADDRESS) and stops after it, or serves until Ctrl-C.
 *
 *   npm run temporal-server -- npx vitest run test/process/queries.full.test.ts
 */
import { once } from 'node:events';
import { runAttached, SetupError } from '../setup/process.mjs';
import { startTemporalServer } from '../temporal-server.ts';

try {
  const server = await startTemporalServer();
  try {
    console.error(`Temporal server at ${server.address}, PostgreSQL at 127.0.0.1:${server.database.port}`);
    const [command, ...args] = process.argv.slice(2);
    if (command === undefined) await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    else
      process.exitCode = await runAttached(command, args, {
        env: { ...process.env, TEMPORAL_ADDRESS: server.address },
      });
  } finally {
    await server.stop();
  }
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exitCode = 1;
}
