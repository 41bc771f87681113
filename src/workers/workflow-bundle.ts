/** The workflows as Temporal's sandbox runs them: bundled at the start of a worker, or beforehand. */
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundleOption } from '@temporalio/worker';
import { FAILURE_CONVERTER_PATH } from '../encryption/data-converter.ts';

const WORKFLOWS = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));

export function bundleWorkflows() {
  return bundleWorkflowCode({
    workflowsPath: WORKFLOWS,
    // Every workflow in memory would hold a copy of each module otherwise. Ours may be shared: a test sees to it that
    // none of them keeps anything.
    preloadModules: [WORKFLOWS],
    failureConverterPath: FAILURE_CONVERTER_PATH,
  });
}

/** `builtFile`: written by `npm run bundle-workflows` from these very sources. */
export async function workflowBundle(builtFile: string | undefined): Promise<WorkflowBundleOption> {
  return builtFile === undefined ? bundleWorkflows() : { codePath: builtFile };
}
