/**
 * `npm run topology`: starts the production topology as processes, pays a few payouts as a check, and serves until Ctrl-C.
 *
 *   npm run topology -- --check                    ends after the check
 *   npm run topology -- --kills [worker,frontend]  measures what happens to payouts when a part of it is killed
 *   npm run topology -- --kills --write            also writes docs/kill-table.md
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runKills } from '../../chaos/kills/run-kills.ts';
import { SetupError } from '../setup/console.mjs';
import { startTopology, type Topology } from '../topology.ts';
import { checkTopology } from './check.ts';

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
    await checkTopology(topology, say);
    if (values.check) return;
    say('\nEverything runs until Ctrl-C.');
    await stopped;
    say('stopping …');
  } finally {
    await topology.stop();
  }
}

function description(topology: Topology): string {
  const { folder, keysFolder, temporalAddress, apiUrl } = topology.places;
  const file = join(folder, 'environment');
  const variables = Object.entries(topology.clientEnvironment).map(([name, value]) => `${name}='${value}'\n`);
  writeFileSync(file, variables.join(''), { mode: 0o600 });
  const key = (name: string) => join(keysFolder, 'operator', name);
  const rows = [
    ['API servers', `${apiUrl} (starter's key in ${key('starter-key')})`],
    ['desk', `${apiUrl}/desk (approver's key in ${key('approver-key')})`],
    ['Temporal UI', topology.uiUrl],
    ['codec server', `${topology.codecUrl} (key in ${key('codec-key')})`],
    ['Temporal', `${temporalAddress}, mutual TLS`],
    ['PostgreSQL', `127.0.0.1:${topology.database.port}`],
    ['simulator', `${topology.simulatorUrl}/_sim`],
    ['logs', folder],
    ['as a client', `set -a; . ${file}; set +a; npm run payouts -- list`],
  ];
  return rows.map(([what = '', where = '']) => `${what.padEnd(14)}${where}`).join('\n');
}

main().catch((error: unknown) => {
  console.error(error instanceof SetupError ? error.message : error);
  process.exitCode = 1;
});
