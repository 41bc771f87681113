import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { bundleOptions } from '../../src/workers/workflow-bundle.ts';
import { elapsedQuery, goSignal, type waits } from '../support/clock/workflows.ts';
import { createNamespace, eventually } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';

const WORKFLOWS = fileURLToPath(new URL('../support/clock/workflows.ts', import.meta.url));
/** The query waits for the dead worker this long, and so does the workflow task after the timer. */
const STICKY_MS = 7_000;
/** The timer fires after the query was sent, and before the query gives up on the dead worker. */
const TIMER_MS = 5_000;
const STARTED = 'workflowTaskStartedEventAttributes';
const FAILED = 'workflowTaskFailedEventAttributes';

describe.each([
  { name: 'without the guard', guarded: false },
  { name: 'with the guard', guarded: true },
])('H52 a worker dies, a timer fires, and a query arrives before the next workflow task: $name', ({ guarded }) => {
  const namespace = `clock-${randomUUID()}`;
  const folder = mkdtempSync(join(tmpdir(), 'payouts-clock-'));
  const codePath = join(folder, 'workflows.js');
  const queue = 'clock';
  const workers = new Map<string, OwnProcess>();
  let client: Client;

  beforeAll(async () => {
    const address = inject('temporalAddress');
    const connection = await Connection.connect({ address });
    client = new Client({ connection, namespace });
    await createNamespace(connection, namespace);
    const options = bundleOptions(WORKFLOWS);
    const bundled = await bundleWorkflowCode(guarded ? options : { ...options, workflowInterceptorModules: [] });
    writeFileSync(codePath, bundled.code);
    for (let count = 0; count < 2; count += 1) await startWorker();
  });

  afterAll(async () => {
    for (const worker of workers.values()) await worker.stop('SIGKILL');
    await client.connection.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Known by what the SDK calls it: the process's id and the host. */
  async function startWorker(): Promise<void> {
    const worker = await startProgram(
      'test/support/clock/worker.ts',
      {
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: namespace,
        CLOCK_QUEUE: queue,
        CLOCK_BUNDLE: codePath,
        CLOCK_STICKY_MS: `${STICKY_MS}`,
      },
      /clock worker ready/,
    );
    workers.set(`${worker.child.pid}`, worker);
  }

  /** Kills the worker that has this workflow in memory; the other one stays. */
  async function killItsWorker(handle: WorkflowHandle): Promise<void> {
    const identity = await eventually(async () => {
      const events = (await handle.fetchHistory()).events ?? [];
      const done = events.some((event) => event.workflowTaskCompletedEventAttributes);
      return done ? events.find((event) => event[STARTED])?.[STARTED]?.identity : undefined;
    });
    const [pid = ''] = identity?.split('@') ?? [];
    await workers.get(pid)?.stop('SIGKILL');
    workers.delete(pid);
  }

  test('the workflow', async () => {
    const workflowId = `waits-${randomUUID()}`;
    const handle = await client.workflow.start<typeof waits>('waits', {
      taskQueue: queue,
      workflowId,
      args: [TIMER_MS, TIMER_MS],
    });
    await killItsWorker(handle);
    const asked = await Promise.allSettled([handle.query(elapsedQuery)]);
    console.log(asked);
    const again = await Promise.allSettled([handle.query(elapsedQuery)]);
    console.log(again);
    const result = await handle.result();
    console.log(result);
    const history = await handle.fetchHistory();
    const failed = history.events?.filter((event) => event[FAILED]);
    console.log(failed);
    const replay = await Promise.allSettled([Worker.runReplayHistory({ workflowBundle: { codePath } }, history, workflowId)]);
    console.log(replay);
  });
});
