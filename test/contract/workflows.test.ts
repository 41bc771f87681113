import { expectTypeOf, test } from 'vitest';
import type { WorkflowSignatures } from '../../src/contract/workflows.ts';
import type * as workflows from '../../src/workflows/index.ts';

/** `npm run check` proves it, which runs first in `npm test`. */
test('every workflow has the documented argument and result', () => {
  // The type error of an assignment names the workflow that is missing or differs.
  expectTypeOf((all: typeof workflows): WorkflowSignatures => all).toBeFunction();
});
