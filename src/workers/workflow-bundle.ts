/** The workflows as Temporal's sandbox runs them: bundled at the start of a worker, or beforehand. */
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type BundleOptions,
  bundleWorkflowCode,
  DefaultLogger,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { FAILURE_CONVERTER_PATH } from '../encryption/data-converter.ts';

/** In a built package they are `.js`. */
const EXTENSION = extname(import.meta.url);
const WORKFLOWS = fileURLToPath(new URL(`../workflows/index${EXTENSION}`, import.meta.url));
const STALE_CLOCK = fileURLToPath(new URL(`../workflows/shared/stale-clock${EXTENSION}`, import.meta.url));

/** Tests bundle workflows of their own as ours are bundled. */
export function bundleOptions(workflowsPath: string = WORKFLOWS): BundleOptions {
  return {
    workflowsPath,
    // Around every workflow of the bundle.
    workflowInterceptorModules: [STALE_CLOCK],
    // Every workflow in memory would hold a copy of each module otherwise. Ours may be shared: a test sees to it that
    // none of them keeps anything.
    preloadModules: [workflowsPath, STALE_CLOCK],
    failureConverterPath: FAILURE_CONVERTER_PATH,
  };
}

export function bundleWorkflows() {
  // At level INFO, the bundler lists every module.
  return bundleWorkflowCode({ ...bundleOptions(), logger: new DefaultLogger('WARN') });
}

/** `builtFile`: written by `npm run bundle-workflows` from these very sources. */
export async function workflowBundle(builtFile: string | undefined): Promise<WorkflowBundleOption> {
  return builtFile === undefined ? bundleWorkflows() : { codePath: builtFile };
}
