/**
 * Produces the stale clock: the worker that has a workflow in memory dies, a query is sent, and only then the workflow's timer
 * fires. The query gives up on the dead worker before the workflow task does, because it has waited longer, so the other worker
 * gets the query before the task on any machine.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { inject } from 'vitest';
import { isStaleClock } from '../../../src/temporal/queries.ts';
import { bundleOptions } from '../../../src/workers/workflow-bundle.ts';
import { replays } from '../histories.ts';
import { createNamespace } from '../payout-world.ts';
import { type OwnProcess, startProgram } from '../processes.ts';
import { workerOf } from '../workers.ts';
import { elapsedQuery, type waits } from './workflows.ts';

const WORKFLOWS = fileURLToPath(new URL('./workflows.ts', import.meta.url));
const QUEUE = 'clock';
export const TIMER_MS = 5_000;
const STICKY_MS = 7_000;
const RETRY_PAUSE_MS = 250;

export interface Played {
  /** The result of the query, and of the next one that is not refused. */
  answers: (number | Error)[];
  elapsedMs: number;
  history: History;
  replay: Error | undefined;
}

/** The workflows beside this file, bundled as the project's are. `guarded`: with the stale-clock guard. */
export async function clockBundle(guarded: boolean) {
  const options = { ...bundleOptions(WORKFLOWS), logger: new DefaultLogger('WARN') };
  return bundleWorkflowCode(guarded ? options : { ...options, workflowInterceptorModules: [] });
}

export async function playStaleClock(guarded: boolean): Promise<Played> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-clock-'));
  const codePath = join(folder, 'workflows.js');
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  const workers: OwnProcess[] = [];
  try {
    const namespace = `clock-${randomUUID()}`;
    const client = new Client({ connection, namespace });
    await createNamespace(connection, namespace);
    writeFileSync(codePath, (await clockBundle(guarded)).code);
    workers.push(
      ...(await Promise.all([startWorker(namespace, codePath), startWorker(namespace, codePath)])),
    );
    return await play(client, workers, codePath);
  } finally {
    for (const worker of workers) await worker.stop('SIGKILL');
    await connection.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function play(client: Client, workers: readonly OwnProcess[], codePath: string): Promise<Played> {
  const workflowId = 'waits';
  const args: [number, number] = [TIMER_MS, TIMER_MS];
  const handle = await client.workflow.start<typeof waits>('waits', { taskQueue: QUEUE, workflowId, args });
  const pid = await workerOf(handle);
  await workers.find(({ child }) => child.pid === pid)?.stop('SIGKILL');
  const first = await answerOf(handle);
  let second = await answerOf(handle);
  // The worker has just rebuilt the workflow, so a query that follows the next workflow task at once is refused, too.
  while (isStaleClock(second)) {
    await sleep(RETRY_PAUSE_MS);
    second = await answerOf(handle);
  }
  const answers = [first, second];
  const { elapsedMs } = await handle.result();
  const history = await handle.fetchHistory();
  const replay = await replays(history, codePath).then(() => undefined, asError);
  return { answers, elapsedMs, history, replay };
}

function answerOf(handle: WorkflowHandle): Promise<number | Error> {
  return handle.query(elapsedQuery).catch(asError);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function startWorker(namespace: string, codePath: string): Promise<OwnProcess> {
  const environment = {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: namespace,
    CLOCK_QUEUE: QUEUE,
    CLOCK_BUNDLE: codePath,
    CLOCK_STICKY_MS: `${STICKY_MS}`,
  };
  return startProgram('test/support/clock/worker.ts', environment, /clock worker ready/);
}
