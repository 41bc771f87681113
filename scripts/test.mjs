/**
 * `npm test [-- what vitest understands]`: sets up whatever is missing, then types, lint and every test.
 * Its last line: `N passed, N failed`.
 */
import { findBrowser } from './setup/browser.mjs';
import { CHECKS, closingLine, runCheck, runVitest, sum } from './setup/checks.mjs';
import { runMain, SetupError, say } from './setup/console.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { readyExamples } from './setup/examples.mjs';
import { projectRoot } from './setup/paths.mjs';
import { findTemporalCli } from './setup/temporal-cli.mjs';

await runMain(async () => {
  process.chdir(projectRoot);
  await ensureDependencies();
  const cli = process.env['TEMPORAL_ADDRESS'] ? {} : { TEMPORAL_CLI_PATH: await findTemporalCli() };
  await getBrowserReady();
  const filters = process.argv.slice(2);
  // The first time takes a minute or two, which the other tests need anyway.
  const examples = filters.length === 0 ? readyExamples() : undefined;
  const counts = [];
  for (const check of CHECKS) counts.push(await runCheck(check));
  counts.push(await runVitest(filters, { ...process.env, ...cli }));
  await examples;
  const total = sum(counts);
  console.log(closingLine(total));
  return total.failed === 0 ? 0 : 1;
});

/** Most tests need none: those that do look for it themselves, and fail with the same words. */
async function getBrowserReady() {
  try {
    await findBrowser();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
  }
}
