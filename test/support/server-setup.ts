/** One Temporal server for all test files of a run: the one at TEMPORAL_ADDRESS, or a dev server that ends with the run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startDevServer } from '../../scripts/dev-server.ts';
import { compilePrograms } from '../../scripts/programs.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    temporalAddress: string;
    temporalUiUrl: string;
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-test-temporal-'));
  await compilePrograms();
  const server = await startDevServer({ logFile: join(folder, 'temporal.log'), cores: 1 });
  project.provide('temporalAddress', server.address);
  project.provide('temporalUiUrl', server.uiUrl);
  return async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
}
