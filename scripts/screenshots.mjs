/** `npm run screenshots`: takes the screenshots in `docs/ui` again, with a real browser. */

import { ensureDependencies } from './setup/dependencies.mjs';
import { runMain, runProgram } from './setup/process.mjs';
import { findTemporalCli } from './setup/temporal-cli.mjs';

await runMain(async () => {
  await ensureDependencies();
  const cli = process.env['TEMPORAL_CLI_PATH'] ?? (await findTemporalCli());
  return runProgram('demo/screenshots/main.ts', process.argv.slice(2), {
    ...process.env,
    // Never show a server with real payouts.
    TEMPORAL_ADDRESS: '',
    TEMPORAL_CLI_PATH: cli,
  });
});
