/** The payload keys: does this machine hold what the workers write with, and they what it writes with? */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { encryptionKeys } from '../../../config/encryption.ts';
import { PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import type { WorkerDescription, WorkflowSignatures } from '../../../contract/workflows.ts';
import { type ClockOffset, clockOffset } from '../../../domain/time.ts';
import { UnknownKeyError } from '../../../encryption/key-ring.ts';
import type { Session } from '../session.ts';
import { type Check, problem, well } from './check.ts';

const CHECK = 'keys';
const LOOK_EVERY_MS = 200;
const ANSWERS_WITHIN_MS = 30_000;
const SAME_KEYS =
  'give both the same PAYOUTS_ENCRYPTION_KEYS (docs/operations.md, Keys); nothing was harmed, nothing is lost';

export interface Keys {
  check: Check;
  /** That worker's clock as the engine saw it. */
  clock?: ClockOffset;
}

type Probe = WorkflowHandle<WorkflowSignatures['workerProbe']>;

/** A question and its answer travel encrypted as a payout's would, which proves the keys both ways. */
export async function keysAgree(session: Session): Promise<Keys> {
  const { client, soon } = session;
  const probe = await soon(() =>
    client.workflow.start<WorkflowSignatures['workerProbe']>('workerProbe', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: `worker-probe:${randomUUID()}`,
      workflowExecutionTimeout: '1 minute',
      args: ['doctor'],
    }),
  );
  const end = await endOf(session, probe);
  if (end === 'answered') return answered(session, probe);
  await probe.terminate('doctor has seen enough').catch(() => undefined);
  if (end === 'silent')
    return {
      check: problem(CHECK, 'no worker answered within 30 s', 'is the worker busy, or cut off? see its log'),
    };
  const what = `a worker could not work on what this machine wrote (${ownKeys()})`;
  return { check: problem(CHECK, what, `its log names the key that it lacks; ${SAME_KEYS}`) };
}

/** A worker that cannot read a payload fails its workflow task, which is then tried again and again. */
async function endOf({ soon }: Session, probe: Probe): Promise<'answered' | 'failed' | 'silent'> {
  for (let waitedMs = 0; waitedMs < ANSWERS_WITHIN_MS; waitedMs += LOOK_EVERY_MS) {
    const { events = [] } = await soon(() => probe.fetchHistory());
    if (events?.some((event) => event.workflowExecutionCompletedEventAttributes)) return 'answered';
    if (events?.some((event) => event.workflowTaskFailedEventAttributes)) return 'failed';
    await sleep(LOOK_EVERY_MS);
  }
  return 'silent';
}

async function answered({ soon }: Session, probe: Probe): Promise<Keys> {
  try {
    const worker = await probe.result();
    const { startTime, closeTime } = await soon(() => probe.describe());
    // Read the other way round: what the worker is ahead of the engine.
    const clock = clockOffset(worker.nowMs, startTime.getTime(), (closeTime ?? new Date()).getTime());
    return { check: well(CHECK, both(worker)), clock };
  } catch (error) {
    const lacked =
      error instanceof UnknownKeyError
        ? `the worker writes with the key ${error.keyId}, which this machine does not hold`
        : `this machine (${ownKeys()}) cannot read what the worker writes: it has none, or another key of the same id`;
    return { check: problem(CHECK, lacked, SAME_KEYS) };
  }
}

function both({ payloadKeys, tokenKeys }: WorkerDescription): string {
  if (payloadKeys.length === 0) return 'payloads are plain: a test against loopback';
  const sealed = tokenKeys.length > 0 ? `, tokens sealed with ${tokenKeys.join(', ')}` : '';
  return `each reads the other: ${ownKeys()} here, ${payloadKeys.join(', ')} at the worker${sealed}`;
}

function ownKeys(): string {
  return encryptionKeys(process.env).payloads?.ids.join(', ') ?? 'no key';
}
