/** The workflows as Temporal's sandbox runs them: bundled at the start of a worker, or beforehand. */
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundleOption } from '@temporalio/worker';
import { FAILURE_CONVERTER_PATH } from '../encryption/data-converter.ts';

export function bundleWorkflows() {
  return bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
    failureConverterPath: FAILURE_CONVERTER_PATH,
  });
}

/** `builtFile`: written by `npm run bundle-workflows` from these very sources. */
export async function workflowBundle(builtFile: string | undefined): Promise<WorkflowBundleOption> {
  return builtFile === undefined ? bundleWorkflows() : { codePath: builtFile };
}
