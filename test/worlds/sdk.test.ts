import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import { SDK_VERSION } from '../../worlds/sdk.ts';

const ROOT = join(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);

test('the SDK has the version for which worlds/sdk.ts was checked', () => {
  const installed: { version: string } = JSON.parse(
    readFileSync(require.resolve('@temporalio/worker/package.json'), 'utf8'),
  );
  expect(installed.version, 'read the imports of worlds/sdk.ts again, then change SDK_VERSION').toBe(
    SDK_VERSION,
  );
});

test('the workflows load, and the Rust core does not', async () => {
  // A process of its own: other test files load the core.
  const script = `
    import { loadWorkflows, newActivity } from './worlds/sdk.ts';
    const workflows = await loadWorkflows(process.argv[1]);
    await workflows.destroy();
    const { sharedObjects } = process.report.getReport();
    console.log(JSON.stringify({ newActivity: typeof newActivity, sharedObjects }));`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', script, inject('workflowBundle')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const seen = z
    .object({ newActivity: z.string(), sharedObjects: z.array(z.string()).min(1) })
    .parse(JSON.parse(stdout));
  expect(seen.newActivity).toBe('function');
  expect(seen.sharedObjects.filter((file) => file.includes('temporal'))).toEqual([]);
});
