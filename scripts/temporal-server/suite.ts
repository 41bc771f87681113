/**
 * `npm run test:production [-- ARGUMENT OF VITEST…]`: the tests whose outcome depends on the Temporal server, on the production
 * server with PostgreSQL instead of the dev server.
 */
import { runAttached, SetupError } from '../setup/process.mjs';
import { startTemporalServer } from '../temporal-server.ts';

/** By what they use of the server. */
const PRODUCTION_TESTS = {
  lists: ['test/api/lists.server.test.ts', 'test/reconciliation/schedule.server.test.ts'],
  priorities: ['test/rate-limit/handover.server.test.ts'],
  fairness: ['test/batch/fairness.server.test.ts'],
  resets: ['test/workflows/starts-and-resets.test.ts'],
  updates: ['test/workflows/cancel-and-approve.test.ts', 'test/workflows/decisions.test.ts'],
  nexus: ['test/nexus/nexus.server.test.ts'],
  queries: ['test/temporal/client-errors.server.test.ts'],
} as const;

try {
  const server = await startTemporalServer();
  try {
    const files = Object.values(PRODUCTION_TESTS).flat();
    // In these projects, each file runs on the real server.
    const projects = ['--project', 'server', '--project', 'twice'];
    const args = ['vitest', 'run', ...projects, ...files, ...process.argv.slice(2)];
    const env = { ...process.env, TEMPORAL_ADDRESS: server.address };
    process.exitCode = await runAttached('npx', args, { env });
  } finally {
    await server.stop();
  }
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exitCode = 1;
}
