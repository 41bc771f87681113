/** Somebody who can write to the namespace completes the workflow that says where a user authorizes. */
import { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import proto from '@temporalio/proto';
import { expect, onTestFinished, test } from 'vitest';
import { PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { post, startApiServer } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';

test("H357 sends no user to the address of a result that isn't encrypted", async () => {
  const keys = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_TOKEN_KEYS: newKey('t1') };
  const world = await PayoutWorld.start({ env: { ...keys, PAYOUTS_PLAIN_PAYLOADS: 'refuse' } });
  const server = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('all')]),
  });
  onTestFinished(async () => {
    await server.close();
    await world.stop();
  });
  const own = await post(`${server.url}/v1/authorizations`, {}, as('all'));
  expect(own.status).toBe(201);
  await world.stopWorkers();
  const outsider = new Client({ connection: world.client.connection, namespace: world.namespace });
  const { workflowService } = outsider;
  const { namespace } = world;
  const another = await startApiServer(world.client, {
    PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('all')]),
  });
  onTestFinished(() => another.close());
  const asking = post(`${another.url}/v1/authorizations`, {}, as('all'));
  // Other workflows wait for a worker, too.
  const taskToken = await eventually(async () => {
    const task = await outsider.withDeadline(Date.now() + 70_000, () =>
      workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: PAYOUTS_TASK_QUEUE } }),
    );
    return task.workflowType?.name === 'authorizationLink' ? task.taskToken : undefined;
  });
  const result = { payloads: [defaultPayloadConverter.toPayload('https://evil.example/authorize')] };
  const { COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION: commandType } = proto.temporal.api.enums.v1.CommandType;
  const commands = [{ commandType, completeWorkflowExecutionCommandAttributes: { result } }];
  await workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, commands });
  const { status, body } = await asking;
  expect(status).toBe(500);
  expect(JSON.stringify(body)).not.toContain('evil.example');
});
