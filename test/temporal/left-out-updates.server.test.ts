import { WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { retryDroppedUpdate } from '../../src/client/steering.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const POLL_MS = 70_000;

let world: PayoutWorld;
beforeAll(async () => {
  world = await PayoutWorld.start({ idle: true });
});
afterAll(() => world.stop());

/** Completes the next workflow task as a worker that leaves out its updates. Returns the number of updates. */
async function completeWithoutUpdates(): Promise<number> {
  const { client } = world;
  const { workflowService, options } = client;
  const { namespace } = options;
  const taskQueue = { name: 'payouts' };
  const { taskToken, messages } = await client.withDeadline(Date.now() + POLL_MS, () =>
    workflowService.pollWorkflowTaskQueue({ namespace, taskQueue }),
  );
  if (taskToken.length > 0) await workflowService.respondWorkflowTaskCompleted({ namespace, taskToken });
  return messages.length;
}

test('H193 an update that a worker leaves out is sent again', async () => {
  const body = payoutRequest(newPartnerOrderId());
  await world.payouts.start(body);
  await completeWithoutUpdates();
  const handle = world.payouts.handle(body);
  let sends = 0;
  const canceled = retryDroppedUpdate(() => {
    sends += 1;
    return handle.executeUpdate('cancel', { args: [{ by: 'olga' }] });
  });
  const ended = expect(canceled).rejects.toBeInstanceOf(WorkflowNotFoundError);
  const leftOutTwice = async () => {
    for (let received = 0; received < 2; ) received += await completeWithoutUpdates();
  };
  await Promise.race([leftOutTwice(), ended]);
  await handle.terminate('the test is over');
  await ended;
  expect(sends).toBeGreaterThanOrEqual(2);
});
