#!/usr/bin/env node
/** What the npm package runs: `durable-payouts PROGRAM`, and the CLI as `payouts` or `durable-payouts`. */

const PROGRAMS: Readonly<Record<string, () => Promise<unknown>>> = {
  demo: () => import('./main.ts'),
  simulator: () => import('../simulator/main.ts'),
  worker: () => import('../src/workers/main.ts'),
  api: () => import('../src/starters/api/main.ts'),
  'codec-server': () => import('../src/codec-server/main.ts'),
};

const [, , name = ''] = process.argv;
const program = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined;
// The program's own arguments follow its name.
if (program) process.argv.splice(2, 1);
await (program ?? (() => import('../src/starters/cli/main.ts')))();
