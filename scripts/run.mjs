/** `node scripts/run.mjs PROGRAM.ts [ARGUMENT…]`: installs missing npm packages, then runs the program. */
import { runMain, SetupError } from './setup/console.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runProgram } from './setup/program.mjs';

await runMain(async () => {
  const [program, ...args] = process.argv.slice(2);
  if (program === undefined) throw new SetupError('usage: node scripts/run.mjs PROGRAM.ts [ARGUMENT…]');
  await ensureDependencies();
  return runProgram(program, args);
});
