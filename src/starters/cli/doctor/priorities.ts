/**
 * Whether the engine serves urgent calls first. Its version does not tell, for it can be switched off: so one task of
 * the first priority is left for a moment on a queue that nobody serves, and the engine is asked under which priority
 * it keeps it.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClockOffset, clockOffset } from '../../../domain/time.ts';
import type { Session } from '../session.ts';
import { type Check, messageOf, problem, unknown, well } from './check.ts';

const CHECK = 'priorities';
const WORKFLOW_TASKS = 1;
const FIRST = 1;
const LOOK_EVERY_MS = 100;
const LOOK_FOR_MS = 5_000;
const DOUBT =
  'without priorities nothing is lost, but in a backlog locks run out: compare with docs/how-it-works.md';

export interface Priorities {
  check: Check;
  /** The engine's clock as this machine saw it; absent where nothing could be started. */
  clock?: ClockOffset;
}

export async function priorities(session: Session): Promise<Priorities> {
  const { client, soon } = session;
  const queue = `priority-probe:${randomUUID()}`;
  const sentMs = Date.now();
  try {
    const handle = await soon(() =>
      client.workflow.start('priorityProbe', {
        taskQueue: queue,
        workflowId: queue,
        workflowExecutionTimeout: '1 minute',
        priority: { priorityKey: FIRST },
      }),
    );
    const answeredMs = Date.now();
    try {
      const check = verdict(await keptUnder(session, queue));
      const { startTime } = await soon(() => handle.describe());
      return { check, clock: clockOffset(startTime.getTime(), sentMs, answeredMs) };
    } finally {
      await handle.terminate('doctor has seen enough').catch(() => undefined);
    }
  } catch (error) {
    return { check: unknown(CHECK, `could not be tried: ${messageOf(error)}`, DOUBT) };
  }
}

/** The priority under which the task waits; undefined where the engine does not say. */
async function keptUnder(session: Session, queue: string): Promise<number | undefined> {
  const { client, namespace, soon } = session;
  const question = {
    namespace,
    taskQueue: { name: queue },
    taskQueueType: WORKFLOW_TASKS,
    reportStats: true,
  };
  for (let waitedMs = 0; waitedMs < LOOK_FOR_MS; waitedMs += LOOK_EVERY_MS) {
    const { statsByPriorityKey } = await soon(() => client.workflowService.describeTaskQueue(question));
    for (const [key, stats] of Object.entries(statsByPriorityKey ?? {}))
      if (Number(stats.approximateBacklogCount ?? 0) > 0) return Number(key);
    await sleep(LOOK_EVERY_MS);
  }
  return undefined;
}

function verdict(keptAs: number | undefined): Check {
  if (keptAs === FIRST) return well(CHECK, 'urgent calls go first');
  if (keptAs === undefined) return unknown(CHECK, 'the engine does not say how it keeps them', DOUBT);
  return problem(
    CHECK,
    'the engine serves all calls in the order in which they came',
    'set matching.useNewMatcher to true in its dynamic configuration (deploy/temporal/dynamicconfig/payouts.yaml)',
  );
}
