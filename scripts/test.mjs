/**
 * `npm test [-- VITEST ARGUMENTS]`: installs what is missing, then checks types and lint and runs every test. Its last
 * line is `N passed, N failed`.
 */
import { findBrowser } from './setup/browser.mjs';
import { CHECKS, closingLine, runCheck, runVitest, sum } from './setup/checks.mjs';
import { runMain, SetupError, say } from './setup/console.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { buildExamples } from './setup/examples.mjs';
import { projectRoot } from './setup/paths.mjs';
import { findTemporalCli } from './setup/temporal-cli.mjs';

await runMain(async () => {
  process.chdir(projectRoot);
  await ensureDependencies();
  const cli = process.env['TEMPORAL_ADDRESS'] ? {} : { TEMPORAL_CLI_PATH: await findTemporalCli() };
  await getBrowserReady();
  const filters = process.argv.slice(2);
  // The first build takes a minute or two, so it runs beside the other tests.
  const examples = filters.length === 0 ? buildExamples() : undefined;
  const counts = [];
  for (const check of CHECKS) counts.push(await runCheck(check));
  counts.push(await runVitest(filters, { ...process.env, ...cli }));
  await examples;
  const total = sum(counts);
  console.log(closingLine(total));
  return total.failed === 0 ? 0 : 1;
});

/** Most tests need no browser. Those that do look for it themselves and fail with the same message. */
async function getBrowserReady() {
  try {
    await findBrowser();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
  }
}
