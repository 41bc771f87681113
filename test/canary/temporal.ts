/** The Temporal server under search, and everything that it has stored. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDevServer } from '../../scripts/dev-server.ts';

export interface CanaryTemporal {
  address: string;
  /** Its log, and its tables or files. This stops the server, so that everything is written. */
  stored(): Promise<Map<string, Buffer>>;
  stop(): Promise<void>;
}

export async function sqliteTemporal(): Promise<CanaryTemporal> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-canary-'));
  const server = await startDevServer({
    always: true,
    ui: false,
    dbFile: join(folder, 'temporal.db'),
    logFile: join(folder, 'temporal.log'),
    logLevel: 'debug',
  });
  return {
    address: server.address,
    stored: async () => {
      await server.stop();
      const files = readdirSync(folder);
      return new Map(files.map((name): [string, Buffer] => [name, readFileSync(join(folder, name))]));
    },
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
