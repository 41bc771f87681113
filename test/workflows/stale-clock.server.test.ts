/** What the stale-clock guard rejects, and that it rejects nothing else. */
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { type History, historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { failureConverter } from '../../src/encryption/failure-converter.ts';
import { FAILURE_CONVERTER_PATH } from '../../src/encryption/payload-codec.ts';
import { isStaleClock } from '../../src/temporal/client-errors.ts';
import { clockBundle } from '../support/clock/scene.ts';
import {
  type doesEverything,
  elapsedQuery,
  goSignal,
  goUpdate,
  type waits,
  type waitsForLocalActivity,
} from '../support/clock/workflows.ts';
import { eventually } from '../support/eventually.ts';
import { createNamespace } from '../support/payout-world.ts';

const QUEUE = 'clock';
const namespace = `clock-${randomUUID()}`;
let bundle: WorkflowBundle;
let client: Client;
let connection: NativeConnection;

beforeAll(async () => {
  const address = inject('temporalAddress');
  client = new Client({ connection: await Connection.connect({ address }), namespace });
  await createNamespace(client.connection, namespace);
  connection = await NativeConnection.connect({ address });
  bundle = await clockBundle(true);
});
afterAll(async () => {
  await connection.close();
  await client.connection.close();
});

/** With a worker while `work` runs, and none afterwards. */
async function withWorker<T>(work: () => Promise<T>): Promise<T> {
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: QUEUE,
    workflowBundle: bundle,
    activities: { quick: async () => 'done', slow: () => sleep(200) },
    dataConverter: { failureConverterPath: FAILURE_CONVERTER_PATH },
  });
  return worker.runUntil(work);
}

async function historyOf(handle: WorkflowHandle): Promise<History> {
  return handle.fetchHistory();
}

async function replays(history: History): Promise<void> {
  await Worker.runReplayHistory({ workflowBundle: bundle }, history, 'replayed');
}

async function failedTasks(handle: WorkflowHandle): Promise<number> {
  const { events } = await historyOf(handle);
  return (events ?? []).filter((event) => event.workflowTaskFailedEventAttributes).length;
}

/** Waits until the history contains such a history event. */
async function recorded(handle: WorkflowHandle, kind: keyof NonNullable<History['events']>[number]) {
  await eventually(async () => (await historyOf(handle)).events?.some((event) => event[kind]) || undefined);
}

/** Whatever arrives while no worker runs is news for which no workflow task has started. */
describe('H52 a query does not make a workflow act on news that no workflow task has delivered', () => {
  const timer = () => client.workflow.start<typeof waits>('waits', { ...options(), args: [1_500, 1_500] });
  const long = () => client.workflow.start<typeof waits>('waits', { ...options(), args: [60_000, 60_000] });
  const options = () => ({ taskQueue: QUEUE, workflowId: `waits-${randomUUID()}` });

  test.each([
    { news: 'a timer', start: timer, arrives: async () => undefined, event: 'timerFiredEventAttributes' },
    {
      news: 'a signal',
      start: long,
      arrives: (handle: WorkflowHandle) => handle.signal(goSignal),
      event: 'workflowExecutionSignaledEventAttributes',
    },
    {
      news: 'a cancellation',
      start: long,
      arrives: (handle: WorkflowHandle) => handle.cancel(),
      event: 'workflowExecutionCancelRequestedEventAttributes',
    },
    {
      news: 'the result of an activity',
      start: () => client.workflow.start('waitsForActivity', options()),
      arrives: () => answerElsewhere(),
      event: 'activityTaskCompletedEventAttributes',
    },
  ] as const)('$news', async ({ start, arrives, event }) => {
    const handle = await start();
    await withWorker(() => recorded(handle, 'workflowTaskCompletedEventAttributes'));
    await arrives(handle);
    await recorded(handle, event);
    // Ended, so that the query does not wait for a workflow task.
    await handle.terminate();
    const answer = await withWorker(() => handle.query(elapsedQuery).catch((error: unknown) => error));
    expect(isStaleClock(answer)).toBe(true);
    await replays(await historyOf(handle));
  });

  /** A worker for the activity only, until it has answered. */
  async function answerElsewhere(): Promise<void> {
    const answered = new EventEmitter();
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue: 'elsewhere',
      activities: { quick: async () => answered.emit('once') },
    });
    await worker.runUntil(once(answered, 'once'));
  }
});

describe('H52 the stale-clock guard rejects nothing that a workflow task has delivered', () => {
  let first: History;
  let second: History;
  let failed: number;

  beforeAll(async () => {
    const workflowId = 'everything';
    await withWorker(async () => {
      const handle = await client.workflow.start<typeof doesEverything>('doesEverything', {
        taskQueue: QUEUE,
        workflowId,
      });
      const firstRun = client.workflow.getHandle(workflowId, handle.firstExecutionRunId);
      await oneRound(firstRun);
      await recorded(firstRun, 'workflowExecutionContinuedAsNewEventAttributes');
      const secondRun = client.workflow.getHandle(workflowId);
      await oneRound(secondRun);
      await handle.result();
      [first, second] = [await historyOf(firstRun), await historyOf(secondRun)];
      failed = (await failedTasks(firstRun)) + (await failedTasks(secondRun));
    });
  });

  /** A rejected update leaves a workflow task that no history shows. */
  async function oneRound(handle: WorkflowHandle): Promise<void> {
    const update = (updateId: string) => handle.executeUpdate(goUpdate, { updateId });
    await eventually(() => update(randomUUID()).then(undefined, () => true));
    await expect(update('refused')).rejects.toThrow();
    await Promise.all([handle.signal(goSignal), handle.signal(goSignal)]);
    expect(await update('taken')).toBe(1);
  }

  test('no workflow task fails, with cancellations of every kind, and accepted and rejected updates', () => {
    expect(failed).toBe(0);
  });

  test('its histories replay', async () => {
    await replays(first);
    await replays(second);
  });

  test("also when the server's clock is set back midway", async () => {
    await replays(setBack(second));
  });

  test('the test can fail: without history sizes from the server, only the clock decides', async () => {
    await expect(replays(withoutSizes(setBack(second)))).rejects.toThrow('workflow task failure');
  });
});

/**
 * A defect of the SDK, and the reason why no workflow of ours calls local activities: the result waits for the next
 * workflow task and its clock, but a replay delivers it on the clock of the task that recorded it.
 */
test('H157 a query that is answered while a local activity completes gives a history that does not replay', async () => {
  const longMs = 300;
  const workflowId = `local-${randomUUID()}`;
  const options = { taskQueue: QUEUE, workflowId, args: [longMs] as [number] };
  const handle = await client.workflow.start<typeof waitsForLocalActivity>('waitsForLocalActivity', options);
  // Temporal attaches the query to the first workflow task.
  const answer = handle.query(elapsedQuery);
  const { elapsedMs } = await withWorker(() => handle.result());
  expect(await answer).toBe(0);
  expect(elapsedMs).toBeGreaterThanOrEqual(longMs);
  await expect(replays(await historyOf(handle))).rejects.toThrow('Nondeterminism');
});

test('every client can read a refusal, although the SDK passes on only its message between threads', () => {
  const source = readFileSync(join(import.meta.dirname, '../../src/workflows/shared/stale-clock.ts'), 'utf8');
  const [, text = ''] = /\$\{STALE_WORKFLOW_CLOCK\}(: .*?)`/.exec(source) ?? [];
  const messageOf = (error: Error) => failureConverter.errorToFailure(error, defaultPayloadConverter).message;
  expect(messageOf(new Error(`StaleWorkflowClock${text}`))).toBe(`StaleWorkflowClock${text}`);
  expect(messageOf(new Error(`StaleWorkflowClock${text}, 6217`))).toBe('Encoded failure');
});

const HOUR_MS = 3_600_000;

/** Simulates a server clock that is set back by an hour, midway. */
function setBack(history: History): History {
  let seen = 0;
  const half = (history.events?.length ?? 0) / 2;
  return changed(history, /"eventTime": ?"([^"]+)"/g, (all, time) => {
    seen += 1;
    return seen < half ? all : `"eventTime":"${new Date(Date.parse(time) - HOUR_MS).toISOString()}"`;
  });
}

function withoutSizes(history: History): History {
  return changed(history, /"historySizeBytes": ?"\d+"/g, () => '"historySizeBytes":"0"');
}

function changed(history: History, what: RegExp, to: (all: string, part: string) => string): History {
  return historyFromJSON(JSON.parse(historyToJSON(history).replace(what, to)));
}
