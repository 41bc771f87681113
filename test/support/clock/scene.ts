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
import { bundleWorkflowCode, DefaultLogger, NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import { isStaleClock } from '../../../src/temporal/client-errors.ts';
import { bundleOptions } from '../../../src/workers/workflow-bundle.ts';
import { replays } from '../histories.ts';
import { createNamespace } from '../payout-world.ts';
import { startProgram } from '../processes.ts';
import { workerOf } from '../workers.ts';
import { type ClockScene, clockWorker } from './clock-worker.ts';
import { elapsedQuery, type waits } from './workflows.ts';

const WORKFLOWS = fileURLToPath(new URL('./workflows.ts', import.meta.url));
export const TIMER_MS = 5_000;
const RETRY_PAUSE_MS = 250;

interface Played {
  /** The result of the query, and of the next one that is not refused. */
  answers: (number | Error)[];
  elapsedMs: number;
  history: History;
}

export interface Scene extends Played {
  replay: Error | undefined;
}

/** The workflows beside this file, bundled as the project's are. `guarded`: with the stale-clock guard. */
export async function clockBundle(guarded: boolean) {
  const options = { ...bundleOptions(WORKFLOWS), logger: new DefaultLogger('WARN') };
  return bundleWorkflowCode(guarded ? options : { ...options, workflowInterceptorModules: [] });
}

/** Without and with the guard: a process that has both workflows dies, and this one goes on. */
export async function playStaleClocks(): Promise<Scene[]> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-clock-'));
  const address = inject('temporalAddress');
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  try {
    const namespace = `clock-${randomUUID()}`;
    await createNamespace(connection, namespace);
    const scenes = await Promise.all([false, true].map((guarded) => sceneIn(folder, guarded)));
    const environment = {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      CLOCK_SCENES: JSON.stringify(scenes),
    };
    const dying = await startProgram('test/support/clock/worker.ts', environment, /clock workers ready/);
    const client = new Client({ connection, namespace });
    const handles = await Promise.all(scenes.map(({ queue }) => begin(client, queue)));
    await dying.stop('SIGKILL');
    const playing = Promise.all(handles.map(play));
    const others = await Promise.all(scenes.map((scene) => clockWorker(native, namespace, scene)));
    const running = others.map((worker) => worker.run());
    const played = await playing;
    for (const worker of others) worker.shutdown();
    await Promise.all(running);
    return await Promise.all(played.map((one, at) => replayed(one, scenes[at]?.codePath)));
  } finally {
    await native.close();
    await connection.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function sceneIn(folder: string, guarded: boolean): Promise<ClockScene> {
  const codePath = join(folder, `guarded-${guarded}.js`);
  writeFileSync(codePath, (await clockBundle(guarded)).code);
  return { queue: `guarded-${guarded}`, codePath };
}

/** Resolves when a process has the workflow in memory. */
async function begin(client: Client, taskQueue: string): Promise<WorkflowHandle<typeof waits>> {
  const args: [number, number] = [TIMER_MS, TIMER_MS];
  const handle = await client.workflow.start<typeof waits>('waits', {
    taskQueue,
    workflowId: taskQueue,
    args,
  });
  await workerOf(handle);
  return handle;
}

async function play(handle: WorkflowHandle<typeof waits>): Promise<Played> {
  const first = await answerOf(handle);
  let second = await answerOf(handle);
  // The worker has just rebuilt the workflow, so a query that follows the next workflow task at once is refused, too.
  while (isStaleClock(second)) {
    await sleep(RETRY_PAUSE_MS);
    second = await answerOf(handle);
  }
  const { elapsedMs } = await handle.result();
  return { answers: [first, second], elapsedMs, history: await handle.fetchHistory() };
}

async function replayed(played: Played, codePath: string | undefined): Promise<Scene> {
  return { ...played, replay: await replays(played.history, codePath).then(() => undefined, asError) };
}

function answerOf(handle: WorkflowHandle): Promise<number | Error> {
  return handle.query(elapsedQuery).catch(asError);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
