/** Bundles the workflows for Temporal's sandbox: when a worker starts, or beforehand. */
import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type BundleOptions,
  bundleWorkflowCode,
  DefaultLogger,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { FAILURE_CONVERTER_PATH } from '../encryption/payload-codec.ts';

/** `.js` in a built package. */
const EXTENSION = extname(import.meta.url);
const WORKFLOWS = fileURLToPath(new URL(`../workflows/index${EXTENSION}`, import.meta.url));
const INTERCEPTORS = ['stale-clock', 'plain-payloads', 'trace'].map((name) =>
  fileURLToPath(new URL(`../workflows/shared/${name}${EXTENSION}`, import.meta.url)),
);
const PROMISE_TRACES = fileURLToPath(
  new URL(`../workflows/shared/promise-traces${EXTENSION}`, import.meta.url),
);
/** `npm run build` writes it. */
const BUILT = fileURLToPath(new URL('../../workflows.js', import.meta.url));

/** Tests bundle their own workflows with the same options. */
export function bundleOptions(workflowsPath: string = WORKFLOWS): BundleOptions {
  return {
    workflowsPath,
    workflowInterceptorModules: INTERCEPTORS,
    // Otherwise, each workflow in memory has its own copy of each module. A test checks that our modules keep no state.
    preloadModules: [PROMISE_TRACES, workflowsPath, ...INTERCEPTORS],
    failureConverterPath: FAILURE_CONVERTER_PATH,
  };
}

export function bundleWorkflows() {
  // At level INFO, the bundler lists every module.
  return bundleWorkflowCode({ ...bundleOptions(), logger: new DefaultLogger('WARN') });
}

/** `builtFile`: a bundle that `npm run bundle-workflows` wrote from the same sources. */
export async function workflowBundle(builtFile: string | undefined): Promise<WorkflowBundleOption> {
  const codePath = builtFile ?? (existsSync(BUILT) ? BUILT : undefined);
  return codePath === undefined ? bundleWorkflows() : { codePath };
}
