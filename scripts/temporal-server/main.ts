/**
 * `npm run temporal-server [-- COMMAND ARGUMENT…]`: starts the production Temporal server with PostgreSQL. Runs the
 * command against it (TEMPORAL_ADDRESS) and stops after it, or serves until Ctrl-C.
 *
 *   npm run temporal-server -- npx vitest run test/process/queries.full.test.ts
 *
 * `npm run test:production [-- ARGUMENT OF VITEST…]`: runs the tests whose outcome depends on the Temporal server.
 */
import { once } from 'node:events';
import { runAttached, runMain } from '../setup/process.mjs';
import { startTemporalServer } from '../temporal-server.ts';

/** Lists, priorities, fairness, resets, updates, Nexus and queries. */
const PRODUCTION_TESTS = [
  'test/api/lists.server.test.ts',
  'test/reconciliation/schedule.server.test.ts',
  'test/rate-limit/handover.server.test.ts',
  'test/batch/fairness.server.test.ts',
  'test/workflows/starts-and-resets.test.ts',
  'test/workflows/cancel-and-approve.test.ts',
  'test/workflows/decisions.test.ts',
  'test/nexus/nexus.server.test.ts',
  'test/temporal/client-errors.server.test.ts',
];
/** In these projects, each file runs on the real server. */
const VITEST = ['npx', 'vitest', 'run', '--project', 'server', '--project', 'twice'];

await runMain(async () => {
  const given = process.argv.slice(2);
  const isSuite = given[0] === '--production-tests';
  const [command, ...args] = isSuite ? [...VITEST, ...PRODUCTION_TESTS, ...given.slice(1)] : given;
  const server = await startTemporalServer();
  try {
    console.error(`Temporal server at ${server.address}, PostgreSQL at 127.0.0.1:${server.database.port}`);
    const env = { ...process.env, TEMPORAL_ADDRESS: server.address };
    if (command !== undefined) return await runAttached(command, args, { env });
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
    return 0;
  } finally {
    await server.stop();
  }
});
