import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Batches } from '../../src/client/batches.ts';
import type { BatchRef } from '../../src/client/checked-batch.ts';
import { batchPartWorkflowId } from '../../src/contract/ids.ts';
import { addedRowsQuery } from '../../src/contract/workflows.ts';
import { batchesOf, manyRows, rowsOf, untilBatch } from '../support/batches.ts';
import { record, replays } from '../support/histories.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let batches: Batches;
beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYOUTS_BATCH_WINDOW: '2' } });
  batches = batchesOf(world);
});
afterAll(() => world.stop());

const CASES: Record<string, (ref: BatchRef) => Promise<void>> = {
  async mixed(ref) {
    const [taken, ...others] = rowsOf(
      'success',
      'failure',
      'success',
      'success',
      'partial splits=3 failed=1',
    );
    if (!taken) throw new Error('five rows');
    await world.payouts.start({ ...taken, clientId: 'client-2' });
    await batches.start({ ...ref, payouts: [taken, ...others] });
  },
  async canceled(ref) {
    const held = world.hold({ operation: 'fee' }, 'before');
    await batches.start({ ...ref, payouts: manyRows(4) });
    await untilBatch(batches, ref, ({ started }) => started === 2);
    await batches.cancel(ref);
    await untilBatch(batches, ref, ({ outcomes }) => outcomes.notStarted === 2);
    held.release();
  },
};

describe('H40 the histories of batches replay', () => {
  test.each(Object.keys(CASES))('replays a new history: %s', async (name) => {
    const ref = { app: 'default', batchId: newPartnerOrderId() };
    await CASES[name]?.(ref);
    await batches.result(ref);
    const [taken] = await batches.handle(ref).query(addedRowsQuery);
    const part = batchPartWorkflowId(ref.app, ref.batchId, 0, taken?.digest ?? '');
    const own = { batch: batches.handle(ref), 'batch-part': world.client.workflow.getHandle(part) };
    for (const [kind, handle] of Object.entries(own)) {
      const history = await handle.fetchHistory();
      record(`${kind}-${name}`, history);
      await replays(history);
    }
    expect(taken).toMatchObject({ offset: 0 });
  });
});
