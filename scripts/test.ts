/**
 * `npm test [-- VITEST ARGUMENTS]`: checks types and lint, and runs the tests. It ends with a line per failure and
 * `N passed, N failed`. `npm run test:fast`, `test:changed` and `test:full` run a part; `check` runs no test.
 */
import { findBrowser } from './setup/browser.ts';
import { type Count, changedFiles, closingLine, runChecks, runVitest, sum } from './setup/checks.ts';
import { buildExamples } from './setup/examples.ts';
import { projectRoot, runMain, SetupError, say } from './setup/process.mjs';
import { findTemporalCli } from './setup/temporal-cli.ts';

const FAST = ['--project', 'fast', '--maxWorkers', '150%'];
const SLOW = ['--project', 'slow', '--maxWorkers', '2'];
/** Most server tests wait: for timers, for processes, for Temporal. */
const SERVER = ['--project', 'server', '--maxWorkers', '6'];
const ALL = ['fast', 'slow', 'server', 'full'].flatMap((name) => ['--project', name]);
const FULL = ['--project', 'full', '--project', 'twice', '--maxWorkers', '4'];

const PARTS: Readonly<Record<string, (args: readonly string[]) => Promise<Count[]>>> = {
  async default(args) {
    const temporal = getTemporalReady();
    // It's reported where it's awaited, after the tests that need no server.
    temporal.catch(() => undefined);
    const browser = args.length === 0 ? getBrowserReady() : undefined;
    const checks = await runChecks();
    if (args.length > 0) {
      await temporal;
      return [...checks, await runVitest([...ALL, ...args])];
    }
    const fast = await runVitest(FAST);
    const slow = runVitest(SLOW);
    await Promise.all([browser, temporal]);
    return [...checks, fast, await runVitest(SERVER), await slow];
  },
  check: () => runChecks(),
  fast: async (args) => [await runVitest([...FAST, ...args])],
  async changed([since]) {
    const files = changedFiles(since);
    const projects = ['fast', 'slow', 'server'].flatMap((name) => ['--project', name]);
    if (files.length === 0) return [];
    return [await runVitest([...projects, '--passWithNoTests', ...files], 'related')];
  },
  async full(args) {
    await Promise.all([getTemporalReady(), getBrowserReady(), buildExamples()]);
    return [await runVitest([...FULL, ...args])];
  },
};

await runMain(async () => {
  process.chdir(projectRoot);
  const [first = '', ...others] = process.argv.slice(2);
  const named = /^--part=(\w+)$/.exec(first)?.[1];
  const part = PARTS[named ?? 'default'];
  if (part === undefined) throw new SetupError(`--part: one of ${Object.keys(PARTS).join(', ')}`);
  const total = sum(await part(named === undefined ? process.argv.slice(2) : others));
  for (const failure of total.failures) console.log(`FAILED: ${failure}`);
  console.log(closingLine(total));
  return total.failed === 0 ? 0 : 1;
});

/** Found or built once, while the tests that need no server run. */
async function getTemporalReady(): Promise<void> {
  if (!process.env['TEMPORAL_ADDRESS']) await findTemporalCli();
}

/** Most tests need no browser. Those that do look for it themselves and fail with the same message. */
async function getBrowserReady(): Promise<void> {
  try {
    await findBrowser();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
  }
}
