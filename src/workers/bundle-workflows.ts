/** `npm run bundle-workflows -- FILE`: bundles the workflows once, for workers with `PAYOUTS_WORKFLOW_BUNDLE=FILE`. */
import { writeFileSync } from 'node:fs';
import { bundleWorkflows } from './workflow-bundle.ts';

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: npm run bundle-workflows -- FILE');
  process.exitCode = 2;
} else writeFileSync(file, (await bundleWorkflows()).code);
