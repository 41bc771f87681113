/** One run of `workerProbe`: which workers took its tasks, and what they made of the payloads. */
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import type { ClockOffset, WorkerDescription, WorkflowSignatures } from '../../../contract/workflows.ts';
import { clockOffset } from '../../../domain/time.ts';
import { UnknownKeyError } from '../../../encryption/key-ring.ts';
import { keyIdOf } from '../../../encryption/payload-codec.ts';
import { isUnserved } from '../../../temporal/client-errors.ts';
import type { Session } from '../session.ts';
import { until } from './check.ts';

const POLL_INTERVAL_MS = 200;
const TIMEOUT_MS = 30_000;
/** `WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE`: also of a payload that cannot be decrypted. */
const UNHANDLED_FAILURE = 14;
const KEY_ID = /^[\w.-]{1,64}$/;

type Handle = WorkflowHandle<WorkflowSignatures['workerProbe']>;
type Events = NonNullable<Awaited<ReturnType<Handle['fetchHistory']>>['events']>;

/** Workers by their Temporal identity. */
export type KeyProbe =
  | { kind: 'described'; worker: string; description: WorkerDescription; clock: ClockOffset }
  /**
   * A worker cannot process what this machine or, if `from` names one, another worker encrypted. `uses`: the key that it
   * encrypts with itself.
   */
  | { kind: 'failed'; worker: string; from: string | undefined; uses: string | undefined }
  /** This machine cannot decrypt what the worker encrypted. */
  | { kind: 'unreadable'; worker: string; lacks: string | undefined }
  | { kind: 'unanswered' };

/** Starts `workerProbe`, whose argument and result are encrypted like a payout's: this proves the keys both ways. */
export async function probeKeys({ client, withDeadline }: Session): Promise<KeyProbe> {
  const probe: Handle = await withDeadline(() =>
    client.workflow.start<WorkflowSignatures['workerProbe']>('workerProbe', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: `worker-probe:${randomUUID()}`,
      workflowExecutionTimeout: '1 minute',
      args: ['doctor'],
    }),
  );
  const found = await until(() => withDeadline(() => look(probe)), POLL_INTERVAL_MS, TIMEOUT_MS);
  if (found === undefined || found.kind === 'failed')
    await withDeadline(() => probe.terminate('no longer needed')).catch(() => undefined);
  return found ?? { kind: 'unanswered' };
}

/** A worker that cannot decrypt a payload fails its task, again and again. Undefined if no worker has done anything yet. */
async function look(probe: Handle): Promise<KeyProbe | undefined> {
  const { events } = await probe.fetchHistory();
  const all = events ?? [];
  const failed = all.findLast(
    ({ workflowTaskFailedEventAttributes: task }) => task?.cause === UNHANDLED_FAILURE,
  );
  if (failed) {
    const { identity, failure } = failed.workflowTaskFailedEventAttributes ?? {};
    return failureOf(identity, activityWorker(all), failure);
  }
  if (all.some((event) => event.workflowExecutionCompletedEventAttributes)) return read(probe, all);
  return all.some((event) => event.activityTaskScheduledEventAttributes)
    ? failedActivity(probe, all)
    : undefined;
}

/** Failed attempts of an activity are not in the history. */
async function failedActivity(probe: Handle, events: Events): Promise<KeyProbe | undefined> {
  const { raw } = await probe.describe();
  const [activity] = raw.pendingActivities ?? [];
  const failure = activity?.lastFailure;
  // A worker that is frozen, or shuts down, is asked again, or another one.
  if (!failure || failure.timeoutFailureInfo || failure.canceledFailureInfo) return undefined;
  return failureOf(activity.lastWorkerIdentity, workflowWorker(events), failure);
}

/** The worker encrypts the message of its failure. */
function failureOf(
  worker: string | null | undefined,
  from: string | undefined,
  failure: { encodedAttributes?: Payload | null } | null | undefined,
): KeyProbe {
  const uses = failure?.encodedAttributes ? keyIdOf(failure.encodedAttributes) : undefined;
  const isId = uses !== undefined && KEY_ID.test(uses);
  return { kind: 'failed', worker: worker || 'unknown', from, uses: isId ? uses : undefined };
}

/** Of a probe that has completed. */
async function read(probe: Handle, events: Events): Promise<KeyProbe> {
  const last = workflowWorker(events) ?? 'unknown';
  const { startTime, closeTime } = await probe.describe();
  try {
    const description = await probe.result();
    const clock = clockOffset(description.nowMs, startTime.getTime(), (closeTime ?? new Date()).getTime());
    return { kind: 'described', worker: activityWorker(events) ?? last, description, clock };
  } catch (error) {
    if (isUnserved(error)) throw error;
    return {
      kind: 'unreadable',
      worker: last,
      lacks: error instanceof UnknownKeyError ? error.keyId : undefined,
    };
  }
}

/** The worker that described itself. */
function activityWorker(events: Events): string | undefined {
  const completed = events.findLast((event) => event.activityTaskCompletedEventAttributes);
  return completed?.activityTaskCompletedEventAttributes?.identity ?? undefined;
}

/** The worker that did the last workflow task. */
function workflowWorker(events: Events): string | undefined {
  const completed = events.findLast((event) => event.workflowTaskCompletedEventAttributes);
  return completed?.workflowTaskCompletedEventAttributes?.identity ?? undefined;
}
