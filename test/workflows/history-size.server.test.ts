import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { clockBundle } from '../support/clock/scene.ts';
import { goSignal, type measures, measuresQuery } from '../support/clock/workflows.ts';
import { eventually } from '../support/eventually.ts';

const WORKFLOWS = 'src/workflows';
/** It refuses queries by the length, and decides nothing for the workflow. */
const GUARD = 'shared/stale-clock.ts';

describe('H270 a query replays a workflow up to the end of its last workflow task', () => {
  const taskQueue = `measures-${randomUUID()}`;
  let connection: Connection;
  let native: NativeConnection;
  let workflowBundle: Awaited<ReturnType<typeof clockBundle>>;
  beforeAll(async () => {
    const address = inject('temporalAddress');
    connection = await Connection.connect({ address });
    native = await NativeConnection.connect({ address });
    workflowBundle = await clockBundle(true);
  });
  afterAll(async () => {
    await native.close();
    await connection.close();
  });

  async function inNewWorker<T>(work: () => Promise<T>): Promise<T> {
    const worker = await Worker.create({ connection: native, taskQueue, workflowBundle });
    return worker.runUntil(work);
  }

  test('the length of the history is another one there, and its size is the same', async () => {
    const { workflow } = new Client({ connection });
    const handle = await workflow.start<typeof measures>('measures', { taskQueue, workflowId: taskQueue });
    const first = await inNewWorker(async () => {
      // By then, the first workflow task has completed.
      await handle.query(measuresQuery);
      await handle.signal(goSignal);
      return eventually(async () => (await handle.query(measuresQuery)).at(0));
    });
    const replayed = await inNewWorker(async () => (await handle.query(measuresQuery)).at(0));
    await handle.terminate();
    expect(first.historySize).toBeGreaterThan(0);
    expect(replayed).toEqual({ ...first, historyLength: first.historyLength + 1 });
  });
});

test('H270 no workflow reads the length of its history', () => {
  const files = readdirSync(WORKFLOWS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && file !== GUARD)
    .filter((file) => /\bhistoryLength\b[^`]/.test(readFileSync(join(WORKFLOWS, file), 'utf8')));
  expect(files).toEqual([]);
});
