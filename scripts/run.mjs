/** `node scripts/run.mjs PROGRAM.ts [ARGUMENT…]`: installs missing npm packages, then runs the program. */

import { ensureDependencies } from './setup/dependencies.mjs';
import { runMain, runProgram, SetupError } from './setup/process.mjs';

await runMain(async () => {
  const [program, ...args] = process.argv.slice(2);
  if (program === undefined) throw new SetupError('usage: node scripts/run.mjs PROGRAM.ts [ARGUMENT…]');
  await ensureDependencies();
  return runProgram(program, args);
});
