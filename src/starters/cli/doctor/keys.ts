/** Whether this machine and the workers can decrypt each other's payloads. */
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { encryptionKeys } from '../../../config/encryption.ts';
import type { Environment } from '../../../config/environment.ts';
import { PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import type { WorkerDescription, WorkflowSignatures } from '../../../contract/workflows.ts';
import { clockOffset } from '../../../domain/time.ts';
import { UnknownKeyError } from '../../../encryption/key-ring.ts';
import type { Session } from '../session.ts';
import { type CheckWithClock, ok, problem, until } from './check.ts';

const CHECK = 'encryption keys';
const POLL_INTERVAL_MS = 200;
const TIMEOUT_MS = 30_000;
const SAME_KEYS = 'set the same PAYOUTS_ENCRYPTION_KEYS on both (docs/operations.md, Encryption keys)';

type Probe = WorkflowHandle<WorkflowSignatures['workerProbe']>;

/**
 * Starts `workerProbe`, whose argument and result are encrypted like a payout's: this proves the keys both ways. `clock`:
 * the offset of the worker's clock from Temporal's.
 */
export async function checkKeys(session: Session): Promise<CheckWithClock> {
  const { client, variables, withDeadline } = session;
  const probe = await withDeadline(() =>
    client.workflow.start<WorkflowSignatures['workerProbe']>('workerProbe', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: `worker-probe:${randomUUID()}`,
      workflowExecutionTimeout: '1 minute',
      args: ['doctor'],
    }),
  );
  const end = await endOf(session, probe);
  if (end === 'completed') return readResult(session, probe);
  await probe.terminate('no longer needed').catch(() => undefined);
  if (end === undefined)
    return {
      check: problem(CHECK, 'no worker answered within 30 s', "read the worker's log: it may be overloaded"),
    };
  const detail = `a worker could not process what this machine encrypted (${ownKeys(variables)})`;
  return { check: problem(CHECK, detail, `the worker's log names the missing key; ${SAME_KEYS}`) };
}

/** A worker that cannot decrypt a payload fails its workflow task, again and again. */
async function endOf({ withDeadline }: Session, probe: Probe): Promise<'completed' | 'failed' | undefined> {
  return until(
    async () => {
      const { events } = await withDeadline(() => probe.fetchHistory());
      if (events?.some((event) => event.workflowExecutionCompletedEventAttributes)) return 'completed';
      return events?.some((event) => event.workflowTaskFailedEventAttributes) ? 'failed' : undefined;
    },
    POLL_INTERVAL_MS,
    TIMEOUT_MS,
  );
}

async function readResult({ variables, withDeadline }: Session, probe: Probe): Promise<CheckWithClock> {
  try {
    const worker = await probe.result();
    const { startTime, closeTime } = await withDeadline(() => probe.describe());
    const clock = clockOffset(worker.nowMs, startTime.getTime(), (closeTime ?? new Date()).getTime());
    return { check: ok(CHECK, keysText(worker, variables)), clock };
  } catch (error) {
    const detail =
      error instanceof UnknownKeyError
        ? `the worker encrypts with the key ${error.keyId}, which this machine lacks`
        : `this machine (${ownKeys(variables)}) cannot decrypt what the worker encrypts: it has no key, or another key with the same id`;
    return { check: problem(CHECK, detail, SAME_KEYS) };
  }
}

function keysText(
  { payloadKeys, tokenKeys, authorizationKeys }: WorkerDescription,
  variables: Environment,
): string {
  if (payloadKeys.length === 0) return 'payloads are not encrypted: a test on loopback';
  const tokens = tokenKeys.length > 0 ? `; token keys: ${tokenKeys.join(', ')}` : '';
  const codes = authorizationKeys.length > 0 ? `; authorization keys: ${authorizationKeys.join(', ')}` : '';
  return `match; this machine: ${ownKeys(variables)}; worker: ${payloadKeys.join(', ')}${tokens}${codes}`;
}

function ownKeys(variables: Environment): string {
  return encryptionKeys(variables).payloads?.ids.join(', ') ?? 'no key';
}
