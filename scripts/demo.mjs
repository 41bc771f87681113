/** `npm run demo`: installs what is missing in a clean clone, then runs the demo. */

import { ensureDependencies } from './setup/dependencies.mjs';
import { runMain, runProgram } from './setup/process.mjs';
import { findTemporalCli } from './setup/temporal-cli.mjs';

await runMain(async () => {
  await ensureDependencies();
  // A Temporal server that is already running is used as it is.
  const cli = process.env['TEMPORAL_ADDRESS'] ? {} : { TEMPORAL_CLI_PATH: await findTemporalCli() };
  return runProgram('demo/main.ts', process.argv.slice(2), { ...process.env, ...cli });
});
