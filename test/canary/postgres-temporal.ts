/** The Temporal server that production runs, with its own PostgreSQL, for the search through rows. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Postgres } from '../../scripts/temporal-server/postgres.ts';
import { DATABASES } from '../../scripts/temporal-server/schemas.ts';
import { startTemporalServer } from '../../scripts/temporal-server.ts';
import type { CanaryTemporal } from './temporal.ts';

export async function postgresTemporal(): Promise<CanaryTemporal> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-canary-pg-'));
  const server = await startTemporalServer({ folder, logLevel: 'debug', historyShards: 4 });
  return {
    address: server.address,
    stored: async () => {
      await server.kill('SIGTERM');
      const tables = Object.keys(DATABASES).flatMap((name) => rowsOf(server.database, name));
      return new Map([['temporal.log', readFileSync(server.logFile)], ...tables]);
    },
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Each table in the binary format of PostgreSQL, so that nothing is compressed, escaped or in hexadecimal. */
function rowsOf(postgres: Postgres, database: string): [string, Buffer][] {
  const tables = postgres.query(database, "select tablename from pg_tables where schemaname = 'public'");
  const names = tables.toString().trim().split('\n');
  return names.map((table): [string, Buffer] => [
    `postgres ${database}.${table}`,
    postgres.query(database, `copy "${table}" to stdout with (format binary)`),
  ]);
}
