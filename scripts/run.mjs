/** `node scripts/run.mjs PROGRAM.ts [ARGUMENT…]`: installs missing npm packages, then runs the program. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureDependencies } from './setup/dependencies.mjs';
import { projectRoot, runAttached, runMain, SetupError } from './setup/process.mjs';

await runMain(async () => {
  const [program, ...args] = process.argv.slice(2);
  if (program === undefined) throw new SetupError('usage: node scripts/run.mjs PROGRAM.ts [ARGUMENT…]');
  await ensureDependencies();
  // By its full URL, because the working directory may be any folder.
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return runAttached(process.execPath, ['--import', tsx, join(projectRoot, program), ...args]);
});
