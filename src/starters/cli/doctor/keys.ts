/**
 * Whether this machine and the workers can decrypt each other's payloads. Each run of `workerProbe` tells which workers took
 * its tasks, and what they made of the payloads.
 */
import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { encryptionKeys } from '../../../config/keys.ts';
import { PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import type { ClockOffset, WorkerDescription, WorkflowSignatures } from '../../../contract/workflows.ts';
import { clockOffset } from '../../../domain/time.ts';
import { UnknownKeyError } from '../../../encryption/key-ring.ts';
import { keyIdOf } from '../../../encryption/payload-codec.ts';
import { isUnserved } from '../../../temporal/client-errors.ts';
import { WORKFLOW_TASKS } from '../../../temporal/worker-versions.ts';
import type { Session } from '../session.ts';
import { type Finding, ok, problem, until } from './checks.ts';

/** A poll lasts up to a minute. Temporal lists a worker for minutes after its last one. */
const POLLS_MS = 70_000;
/** After the first probe. Temporal chooses the worker of each probe, so there is no certainty to ask every worker. */
const PROBES_AT_ONCE = 4;
const MORE_PROBES = 8;
/** No further probes begin after this time. */
const ENOUGH_MS = 8_000;
const POLL_INTERVAL_MS = 200;
const TIMEOUT_MS = 30_000;
/** `WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE`: covers a payload that cannot be decrypted, too. */
const UNHANDLED_FAILURE = 14;
const KEY_ID = /^[\w.-]{1,64}$/;
const PAGE = 'docs/operations.md, Encryption keys';
const BLOCKS = 'the encryption keys do not match';

/** What one run of `workerProbe` tells about a worker, by its Temporal identity. */
interface Probe {
  worker: string;
  /** Absent if something could not be decrypted. */
  keys?: WorkerDescription;
  /** The offset of the worker's clock from Temporal's. */
  clock?: ClockOffset;
  /** What could not be decrypted, and by whom. */
  fault?: string;
}

type Handle = WorkflowHandle<WorkflowSignatures['workerProbe']>;
type Events = NonNullable<Awaited<ReturnType<Handle['fetchHistory']>>['events']>;

/** Probes until every worker was asked, within limits. `clock`: the offset of a worker's clock from Temporal's. */
export async function checkKeys(session: Session): Promise<Finding> {
  const begunMs = Date.now();
  const first = await probeKeys(session);
  if (!first)
    return problem('no worker responded within 30 s', "read the worker's log: it may be overloaded", BLOCKS);
  const probes = [first];
  const workers = await pollingWorkers(session);
  const unasked = () => workers.filter((name) => !probes.some(({ worker }) => worker === name)).length;
  const isDone = () => unasked() === 0 || Date.now() - begunMs > ENOUGH_MS;
  for (let left = MORE_PROBES; left > 0 && !isDone(); left -= PROBES_AT_ONCE) {
    const more = Array.from({ length: PROBES_AT_ONCE }, () => probeKeys(session));
    const ended = await Promise.allSettled(more);
    probes.push(...ended.flatMap((one) => (one.status === 'fulfilled' && one.value) || []));
  }
  const clock = probes.find((probe) => probe.clock !== undefined)?.clock;
  return { ...verdictOf(probes, unaskedText(unasked())), clock };
}

/** The identities of the workers that poll for workflows. */
async function pollingWorkers({ client, namespace }: Session): Promise<string[]> {
  const request = { namespace, taskQueue: { name: PAYOUTS_TASK_QUEUE }, taskQueueType: WORKFLOW_TASKS };
  const { pollers } = await client.workflowService.describeTaskQueue(request);
  const seen = (pollers ?? []).map(({ identity, lastAccessTime }) => ({
    identity: identity ?? '',
    atMs: lastAccessTime ? tsToMs(lastAccessTime) : 0,
  }));
  const newestMs = Math.max(0, ...seen.map(({ atMs }) => atMs));
  return [...new Set(seen.filter(({ atMs }) => atMs >= newestMs - POLLS_MS).map(({ identity }) => identity))];
}

function verdictOf(probes: readonly Probe[], unasked: string): Finding {
  const bad = namesOf(probes.filter(({ fault }) => fault !== undefined));
  const good = probes.filter(({ worker }) => !bad.includes(worker));
  if (bad.length === 0) return ok(`${matchText(good)}${unasked}`);
  const faults = [...new Set(probes.flatMap(({ fault }) => fault ?? []))].join('; ');
  const logs = `the log of ${workersText(bad)} names the cause, usually a missing key`;
  if (good.length === 0)
    return problem(
      `${faults}${unasked}`,
      `${logs}; set the same PAYOUTS_ENCRYPTION_KEYS there and here (${PAGE}). Other workers may be fine: another run of doctor may ask another worker`,
      BLOCKS,
    );
  return problem(
    `${faults}; ${workersText(namesOf(good))}: no fault${unasked}`,
    `${logs}; set the PAYOUTS_ENCRYPTION_KEYS of the other workers there (${PAGE})`,
    BLOCKS,
  );
}

/** Workers with the same keys share a text. */
function matchText(probes: readonly Probe[]): string {
  if (probes.every(({ keys }) => keys?.payloadKeys.length === 0))
    return 'payloads are not encrypted: a test on loopback';
  const texts = probes.map(({ keys }) => keysText(keys));
  const shared = [...new Set(texts)].map((text) => {
    const workers = namesOf(probes.filter((_, at) => texts[at] === text));
    return `${workersText(workers)}: ${text}`;
  });
  return [`match; this machine: ${ownKeys()}`, ...shared].join('; ');
}

function keysText(keys: WorkerDescription | undefined): string {
  const { payloadKeys = [], tokenKeys = [], authorizationKeys = [] } = keys ?? {};
  const tokens = tokenKeys.length > 0 ? `; token keys: ${tokenKeys.join(', ')}` : '';
  const codes = authorizationKeys.length > 0 ? `; authorization keys: ${authorizationKeys.join(', ')}` : '';
  return `${payloadKeys.join(', ')}${tokens}${codes}`;
}

function namesOf(probes: readonly Probe[]): string[] {
  return [...new Set(probes.map(({ worker }) => worker))];
}

function workersText(names: readonly string[]): string {
  return `${names.length === 1 ? 'worker' : 'workers'} ${names.join(', ')}`;
}

function unaskedText(count: number): string {
  if (count === 0) return '';
  return `; ${count === 1 ? 'one more worker was' : `${count} more workers were`} not asked`;
}

function ownKeys(): string {
  return encryptionKeys(process.env).payloads?.ids.join(', ') ?? 'no key';
}

/**
 * Starts `workerProbe`, whose argument and result are encrypted like a payout's: this proves the keys both ways. Undefined if
 * no worker responds.
 */
async function probeKeys({ client }: Session): Promise<Probe | undefined> {
  const handle: Handle = await client.workflow.start<WorkflowSignatures['workerProbe']>('workerProbe', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: `worker-probe:${randomUUID()}`,
    workflowExecutionTimeout: '1 minute',
    args: ['doctor'],
  });
  const found = await until(() => look(handle), POLL_INTERVAL_MS, TIMEOUT_MS);
  if (!found?.keys) await handle.terminate('no longer needed').catch(() => undefined);
  return found;
}

/** A worker that cannot decrypt a payload fails its task, again and again. Undefined if no worker has done anything yet. */
async function look(probe: Handle): Promise<Probe | undefined> {
  const { events } = await probe.fetchHistory();
  const all = events ?? [];
  const failed = all.findLast(
    ({ workflowTaskFailedEventAttributes: task }) => task?.cause === UNHANDLED_FAILURE,
  );
  if (failed) {
    const { identity, failure } = failed.workflowTaskFailedEventAttributes ?? {};
    return failedProbe(identity, activityWorker(all), failure);
  }
  if (all.some((event) => event.workflowExecutionCompletedEventAttributes)) return read(probe, all);
  if (all.some((event) => event.workflowExecutionFailedEventAttributes)) return refused(workflowWorker(all));
  return all.some((event) => event.activityTaskScheduledEventAttributes)
    ? failedActivity(probe, all)
    : undefined;
}

/** Failed attempts of an activity are not in the history. */
async function failedActivity(probe: Handle, events: Events): Promise<Probe | undefined> {
  const { raw } = await probe.describe();
  const [activity] = raw.pendingActivities ?? [];
  const failure = activity?.lastFailure;
  // A worker that is frozen, or shuts down, is probed again, or another one is.
  if (!failure || failure.timeoutFailureInfo || failure.canceledFailureInfo) return undefined;
  return failedProbe(activity.lastWorkerIdentity, workflowWorker(events), failure);
}

/**
 * A worker could not process what this machine or, if `from` names one, another worker encrypted. The message of its failure
 * is encrypted with its own key.
 */
function failedProbe(
  identity: string | null | undefined,
  from: string | undefined,
  failure: { encodedAttributes?: Payload | null } | null | undefined,
): Probe {
  const worker = identity || 'unknown';
  const key = failure?.encodedAttributes ? keyIdOf(failure.encodedAttributes) : undefined;
  const uses = key !== undefined && KEY_ID.test(key) ? ` (it encrypts with ${key})` : '';
  const what = from === undefined ? `this machine encrypted (${ownKeys()})` : `worker ${from} encrypted`;
  return { worker, fault: `worker ${worker}${uses} could not process what ${what}` };
}

/** Workers with keys refuse a start that isn't encrypted under one of them. */
function refused(worker = 'unknown'): Probe {
  return { worker, fault: `worker ${worker} refuses what this machine (${ownKeys()}) does not encrypt` };
}

/** Reads a probe that has completed. */
async function read(probe: Handle, events: Events): Promise<Probe> {
  const worker = workflowWorker(events) ?? 'unknown';
  const { startTime, closeTime } = await probe.describe();
  try {
    const keys = await probe.result();
    const clock = clockOffset(keys.nowMs, startTime.getTime(), (closeTime ?? new Date()).getTime());
    return { worker: activityWorker(events) ?? worker, keys, clock };
  } catch (error) {
    if (isUnserved(error)) throw error;
    const fault =
      error instanceof UnknownKeyError
        ? `worker ${worker} encrypts with the key ${error.keyId}, which this machine lacks`
        : `this machine (${ownKeys()}) cannot decrypt what worker ${worker} encrypts: it has no key, or another key with the same ID`;
    return { worker, fault };
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
