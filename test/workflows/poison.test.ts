import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { payoutBatchWorkflowId, tokenWorkflowId } from '../../src/contract/ids.ts';
import { renewUpdate } from '../../src/contract/workflows.ts';
import { batchesOf, manyRows } from '../support/batches.ts';
import { eventually } from '../support/eventually.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const ENCODED = { encoding: bytes('json/plain') };
const POISON = [{ metadata: ENCODED, data: bytes('{{{') }];

describe('H35 signals that cannot be decoded', () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world.stop());

  const poison = (workflowId: string, signalName: string, payloads = POISON) =>
    world.client.workflowService.signalWorkflowExecution({
      namespace: world.namespace,
      workflowExecution: { workflowId },
      signalName,
      input: { payloads },
    });

  test('H35 sent to a token renewal: it keeps renewing', async () => {
    const renewal = world.client.workflow.getHandle(tokenWorkflowId('default', undefined));
    await eventually(() => renewal.describe().catch(() => undefined));
    await poison(renewal.workflowId, 'authorized');
    await poison(renewal.workflowId, 'authorized', [{ metadata: ENCODED, data: bytes('7') }]);
    const state = await renewal.executeUpdate(renewUpdate);
    expect(state).toMatchObject({ needsAttention: false, needsAuthorization: false });
  });

  test('H35 sent to a batch: it keeps paying', async () => {
    const payouts = manyRows(3);
    const batches = batchesOf(world);
    const batchId = newPartnerOrderId();
    const workflowId = payoutBatchWorkflowId('default', batchId);
    await world.client.workflow.start('payoutBatch', {
      taskQueue: 'payouts',
      workflowId,
      args: [{ app: 'default', batchId, count: payouts.length }],
      memo: { environment: 'test' },
    });
    await poison(workflowId, 'partReport');
    await poison(workflowId, 'partReport', [{ metadata: ENCODED, data: bytes('{"offset":0}') }]);
    await batches.start({ batchId, payouts });
    expect((await batches.result({ batchId })).outcomes.SUCCESS).toBe(3);
  });
});
