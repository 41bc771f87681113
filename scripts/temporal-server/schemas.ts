/** Creates Temporal's databases. */
import { execFileSync } from 'node:child_process';
import { USER } from './postgres.ts';

/** The databases, each with the schema tool's name for its schema. */
export const DATABASES = {
  temporal: 'postgresql/v12/temporal',
  temporal_visibility: 'postgresql/v12/visibility',
} as const;

/** Like deploy/temporal/schema.sh. */
export function createSchemas(tool: string, port: number): void {
  const common = ['--plugin', 'postgres12', '--ep', '127.0.0.1', '-p', `${port}`, '-u', USER];
  for (const [database, schema] of Object.entries(DATABASES)) {
    const step = (...args: string[]) =>
      execFileSync(tool, [...common, '--db', database, ...args], { stdio: 'pipe' });
    step('create');
    step('setup-schema', '-v', '0.0');
    step('update-schema', '--schema-name', schema);
  }
}
