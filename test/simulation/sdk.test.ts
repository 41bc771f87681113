import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, inject, test } from 'vitest';
import { loadWorkflows, newActivity, SDK_VERSION } from '../../simulation/sdk.ts';

const require = createRequire(import.meta.url);

test('the SDK has the version for which simulation/sdk.ts was checked', () => {
  const installed: { version: string } = JSON.parse(
    readFileSync(require.resolve('@temporalio/worker/package.json'), 'utf8'),
  );
  expect(installed.version, 'read the imports of simulation/sdk.ts again, then change SDK_VERSION').toBe(
    SDK_VERSION,
  );
});

test('the workflows load, and the Rust core does not', async () => {
  const workflows = await loadWorkflows(inject('workflowBundle'));
  await workflows.destroy();
  expect(newActivity).toBeTypeOf('function');
  const report: { sharedObjects: string[] } = JSON.parse(JSON.stringify(process.report.getReport()));
  expect(report.sharedObjects.filter((file) => file.includes('temporal'))).toEqual([]);
});
