import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { bundleOptions } from '../../../src/workers/workflow-bundle.ts';

const INTERCEPTOR = fileURLToPath(new URL('./interceptor.ts', import.meta.url));

/** The project's workflows with one more interceptor: by default, as in the modified version. */
export async function modifiedBundle(interceptor = INTERCEPTOR): Promise<string> {
  const { workflowInterceptorModules = [], ...options } = bundleOptions();
  const { code } = await bundleWorkflowCode({
    ...options,
    workflowInterceptorModules: [...workflowInterceptorModules, interceptor],
    logger: new DefaultLogger('WARN'),
  });
  return code;
}
