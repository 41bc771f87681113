/** The check of every workflow after a campaign: failed workflows, and workflows whose tasks fail. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { type Unhealthy, unhealthyWorkflows } from '../../chaos/workflow-health.ts';

test('reports a failed workflow and one whose workflow task fails, each with the cause, and no healthy one', async () => {
  const address = inject('temporalAddress');
  const taskQueue = `unhealthy-${randomUUID()}`;
  const connection = await Connection.connect({ address });
  const nativeConnection = await NativeConnection.connect({ address });
  const client = new Client({ connection });
  const worker = await Worker.create({
    connection: nativeConnection,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('./support/unhealthy-workflows.ts', import.meta.url)),
  });
  const start = (workflowType: string) =>
    client.workflow.start(workflowType, { taskQueue, workflowId: `${taskQueue}-${workflowType}` });
  const handles = await Promise.all(['fails', 'throwsInItsTask', 'isWell'].map(start));
  const found = await worker.runUntil(async () => {
    let unhealthy: Unhealthy[] = [];
    // Visibility lags, and a workflow task counts as stuck from its third attempt.
    while (!unhealthy.some(({ why }) => why.includes('keeps being retried'))) {
      unhealthy = await unhealthyWorkflows(client, `TaskQueue = '${taskQueue}'`);
      await sleep(200);
    }
    return unhealthy;
  });
  const named = (workflowType: string) =>
    found.filter(({ workflowId }) => workflowId.endsWith(workflowType)).map(({ why }) => why);
  expect(named('fails')).toEqual([expect.stringMatching(/FAILED.*it failed/)]);
  expect(named('throwsInItsTask')).toEqual([
    expect.stringMatching(/WORKFLOW_WORKER_UNHANDLED_FAILURE.*a sum of 19 digits/),
    'its workflow task keeps being retried',
  ]);
  expect(named('isWell')).toEqual([]);
  await Promise.all(handles.map((handle) => handle.terminate().catch(() => undefined)));
  await nativeConnection.close();
  await connection.close();
});
