import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { bundleOptions } from '../../src/workers/workflow-bundle.ts';
import { eventually } from '../support/eventually.ts';

const WORKFLOWS = fileURLToPath(new URL('./rejecting-workflows.ts', import.meta.url));

describe('a workflow whose promises leave no traces', () => {
  const taskQueue = `promises-${randomUUID()}`;
  let connection: Connection;
  let native: NativeConnection;
  let worker: Worker;
  let running: Promise<void>;
  beforeAll(async () => {
    const address = inject('temporalAddress');
    connection = await Connection.connect({ address });
    native = await NativeConnection.connect({ address });
    const workflowBundle = await bundleWorkflowCode({
      ...bundleOptions(WORKFLOWS),
      logger: new DefaultLogger('WARN'),
    });
    worker = await Worker.create({ connection: native, taskQueue, workflowBundle });
    running = worker.run();
  });
  afterAll(async () => {
    worker.shutdown();
    await running;
    await native.close();
    await connection.close();
  });

  const start = (type: string) =>
    new Client({ connection }).workflow.start(type, { taskQueue, workflowId: randomUUID() });

  test('shows no place where it waits', async () => {
    const handle = await start('waits');
    expect(await handle.query('__stack_trace')).toBe('');
    await handle.terminate();
  });

  test('fails with the stack trace of its error, in the source', async () => {
    const handle = await start('fails');
    const error = await handle.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WorkflowFailedError);
    expect(error).toMatchObject({ cause: { stack: expect.stringContaining('rejecting-workflows.ts:8') } });
  });

  test('fails its own workflow task after a rejection that nobody awaits', async () => {
    const handle = await start('rejects');
    const failed = await eventually(async () => {
      const { events } = await handle.fetchHistory();
      return events?.find((event) => event.workflowTaskFailedEventAttributes);
    });
    await handle.terminate();
    expect(worker.getState()).toBe('RUNNING');
    const { data } = failed.workflowTaskFailedEventAttributes?.failure?.encodedAttributes ?? {};
    expect(Buffer.from(data ?? []).toString()).toContain('nobody awaits');
  });
});
