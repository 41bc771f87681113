import { expectTypeOf, test } from 'vitest';
import type { WorkflowSignatures } from '../../src/contract/workflows.ts';
import type * as workflows from '../../src/workflows/index.ts';

/** By `npm run typecheck`, which runs first in `npm test`. */
test('every workflow takes and gives what its callers are told', () => {
  expectTypeOf<typeof workflows>().toExtend<WorkflowSignatures>();
});
