/**
 * `npm run topology`: starts the production topology as processes, pays a few payouts as a check, and serves until Ctrl-C.
 *
 *   npm run topology -- --check                    ends after the check
 *   npm run topology -- --kills [worker,frontend]  measures what happens to payouts when a part of it is killed
 *   npm run topology -- --kills --write            also writes docs/kill-table.md
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { SetupError } from '../scripts/setup/process.mjs';
import { description } from '../scripts/topology/description.ts';
import { startTopology } from '../scripts/topology.ts';
import { checkTopology } from './check-topology.ts';
import { runKills } from './kills/run-kills.ts';

const say = (line: string) => console.log(line);

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      check: { type: 'boolean', default: false },
      kills: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  if (values.kills) {
    const names = positionals.flatMap((list) => list.split(','));
    if (!(await runKills({ names, write: values.write, say }))) process.exitCode = 1;
    return;
  }
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const topology = await startTopology({ say });
  try {
    say(`\n${description(topology)}\n\npaying a few payouts …`);
    const isGood = await checkTopology(topology, say);
    if (!isGood) process.exitCode = 1;
    if (values.check || !isGood) return;
    say('\nEverything runs until Ctrl-C.');
    await stopped;
    say('stopping …');
  } finally {
    await topology.stop();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof SetupError ? error.message : error);
  process.exitCode = 1;
});
