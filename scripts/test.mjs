/**
 * `npm test [-- VITEST ARGUMENTS]`: installs what is missing, then checks types and lint and runs the tests. It ends with
 * a line per failure and `N passed, N failed`. `npm run test:fast`, `test:changed` and `test:full` run a part; `check` runs no test.
 */
import { findBrowser } from './setup/browser.mjs';
import { changedFiles, closingLine, runChecks, runVitest, sum } from './setup/checks.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { buildExamples } from './setup/examples.mjs';
import { projectRoot, runMain, SetupError, say } from './setup/process.mjs';
import { findTemporalCli } from './setup/temporal-cli.mjs';

const FAST = ['--project', 'fast', '--maxWorkers', '150%'];
const SLOW = ['--project', 'slow', '--maxWorkers', '2'];
/** Most server tests wait: for timers, for processes, for Temporal. */
const SERVER = ['--project', 'server', '--maxWorkers', '6'];
const ALL = ['fast', 'slow', 'server', 'full'].flatMap((name) => ['--project', name]);
const FULL = ['--project', 'full', '--project', 'twice', '--maxWorkers', '4'];

/** @typedef {import('./setup/checks.mjs').Count} Count */
/** @type {Readonly<Record<string, (args: string[]) => Promise<Count[]>>>} */
const PARTS = {
  async default(args) {
    const temporal = temporalEnvironment();
    // It is reported where it is awaited, after the tests that need no server.
    temporal.catch(() => undefined);
    if (args.length > 0) return [...(await runChecks()), await runVitest([...ALL, ...args], await temporal)];
    const browser = getBrowserReady();
    const [checks, fast] = [await runChecks(), await runVitest(FAST)];
    const slow = runVitest(SLOW);
    await browser;
    return [...checks, fast, await runVitest(SERVER, await temporal), await slow];
  },
  check: () => runChecks(),
  async fast(args) {
    return [await runVitest([...FAST, ...args])];
  },
  async changed(args) {
    const files = changedFiles(args[0]);
    if (files.length === 0) return [];
    const projects = ['fast', 'slow', 'server'].flatMap((name) => ['--project', name]);
    return [await runVitest([...projects, '--passWithNoTests', ...files], process.env, 'related')];
  },
  async full(args) {
    const [temporal] = await Promise.all([temporalEnvironment(), getBrowserReady(), buildExamples()]);
    return [await runVitest([...FULL, ...args], temporal)];
  },
};

await runMain(async () => {
  process.chdir(projectRoot);
  const [first = '', ...others] = process.argv.slice(2);
  const named = /^--part=(\w+)$/.exec(first)?.[1];
  const part = PARTS[named ?? 'default'];
  if (part === undefined) throw new SetupError(`--part: one of ${Object.keys(PARTS).join(', ')}`);
  await ensureDependencies();
  const total = sum(await part(named === undefined ? process.argv.slice(2) : others));
  for (const failure of total.failures) console.log(`FAILED: ${failure}`);
  console.log(closingLine(total));
  return total.failed === 0 ? 0 : 1;
});

/** Found or built once, while the tests that need no server run. */
async function temporalEnvironment() {
  const cli = process.env['TEMPORAL_ADDRESS'] ? {} : { TEMPORAL_CLI_PATH: await findTemporalCli() };
  return { ...process.env, ...cli };
}

/** Most tests need no browser. Those that do look for it themselves and fail with the same message. */
async function getBrowserReady() {
  try {
    await findBrowser();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(error.message);
  }
}
