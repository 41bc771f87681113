/** Bundles the workflows once for all test files of a run. */
import type { TestProject } from 'vitest/node';
import { bundledWorkflows } from '../../scripts/programs.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A file, bundled once for all workers of a run. */
    workflowBundle: string;
  }
}

export default async function setUp(project: TestProject): Promise<void> {
  project.provide('workflowBundle', await bundledWorkflows());
}
