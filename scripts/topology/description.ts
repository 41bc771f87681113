/** Says where everything in the topology is, for the operator who started it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Topology } from '../topology.ts';

/** Also writes the file with the variables of a client. */
export function description(topology: Topology): string {
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
