/**
 * Tells a call that waits for a worker from one that no worker will ever respond to. Temporal lists a worker for five minutes
 * after its last poll, which may take a minute, so a worker that is listed may be gone: a small workflow proves that one runs.
 */
import type { Client } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import { type Clock, sleep } from '../runtime/runtime.ts';
import { WORKFLOW_TASKS } from './worker-versions.ts';

/** A call that takes longer may lack a worker. */
const QUIET_MS = 700;
/** A worker takes a task within milliseconds. */
const TAKEN_WITHIN_MS = 1_500;
const LOOK_EVERY_MS = 100;
/** The history of a workflow whose first task no worker has taken: started, scheduled. */
const UNTAKEN_EVENTS = 2;

/** Thrown if no worker takes tasks. The message says when one was last seen. */
export class NoWorkerError extends Error {
  override readonly name = 'NoWorkerError';

  constructor(lastSeenMs: number | undefined, nowMs: number) {
    const seen =
      lastSeenMs === undefined ? 'none seen for 5 minutes' : `last seen ${agoText(nowMs - lastSeenMs)}`;
    super(`no worker is running (${seen})`);
  }
}

function agoText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  return seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
}

/** The clients that found no worker, with the last poll then. Until the next poll, no call waits. */
const missed = new WeakMap<Client, { seenMs: number | undefined }>();

/** Of each client, so that many slow calls start one workflow. */
const running = new WeakMap<Client, Promise<void>>();

/** Throws `NoWorkerError`. */
export function requireWorker(client: Client, clock: Clock): Promise<void> {
  const check = running.get(client) ?? checkWorker(client, clock).finally(() => running.delete(client));
  running.set(client, check);
  return check;
}

async function checkWorker(client: Client, clock: Clock): Promise<void> {
  const seenMs = await lastSeen(client, PAYOUTS_TASK_QUEUE, WORKFLOW_TASKS);
  const known = missed.get(client);
  const isSame = known !== undefined && known.seenMs === seenMs;
  if (!isSame && (await takesTasks(client, clock))) {
    missed.delete(client);
    return;
  }
  missed.set(client, { seenMs });
  throw new NoWorkerError(seenMs, clock.wallMs());
}

/** When a worker last polled the task queue. Undefined if Temporal lists none. */
export async function lastSeen(
  { workflowService, options: { namespace } }: Client,
  queue: string,
  taskQueueType: number,
): Promise<number | undefined> {
  const { pollers } = await workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType,
  });
  const times = (pollers ?? []).map(({ lastAccessTime }) => (lastAccessTime ? tsToMs(lastAccessTime) : 0));
  return times.length > 0 ? Math.max(...times) : undefined;
}

async function takesTasks({ workflow }: Client, clock: Clock): Promise<boolean> {
  const probe = await workflow.start('workerProbe', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: `worker-probe:${clock.wallMs()}`,
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowExecutionTimeout: '1 minute',
    args: ['watch'],
  });
  for (const endMs = clock.nowMs() + TAKEN_WITHIN_MS; ; await sleep(clock, LOOK_EVERY_MS)) {
    const { historyLength } = await probe.describe();
    if (historyLength > UNTAKEN_EVENTS) return true;
    if (clock.nowMs() >= endMs) break;
  }
  await probe.terminate('no worker has taken it').catch(() => undefined);
  return false;
}

/**
 * The result of `call`, which needs a worker. Throws `NoWorkerError` if `call` waits and no worker runs. `signal` ends the
 * call.
 */
export async function whileWorkerRuns<T>(
  client: Client,
  clock: Clock,
  call: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (missed.has(client)) await requireWorker(client, clock);
  const ended = new AbortController();
  const quiet = async (): Promise<never> => {
    await sleep(clock, QUIET_MS, ended.signal);
    await requireWorker(client, clock);
    return new Promise<never>(() => undefined);
  };
  // A call that nobody waits for would keep the process running.
  const unneeded = signal ? AbortSignal.any([ended.signal, signal]) : ended.signal;
  const called = client.withAbortSignal(unneeded, call);
  // If Temporal doesn't respond, the call says so itself.
  const missing = quiet().catch((error: unknown) => {
    if (error instanceof NoWorkerError) throw error;
    return called;
  });
  return Promise.race([called, missing]).finally(() => ended.abort());
}
