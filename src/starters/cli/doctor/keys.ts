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
import type { Session } from '../session.ts';
import { type Check, type CheckWithClock, ok, problem, until, WORKFLOW_TASKS } from './checks.ts';

const CHECK = 'encryption keys';
/** A poll lasts up to a minute. Temporal lists a worker for minutes after its last one. */
const POLLS_MS = 70_000;
/** After the first probe. Temporal chooses the worker of each probe, so there is no certainty to ask every worker. */
const PROBES_AT_ONCE = 4;
const MORE_PROBES = 8;
/** No further probes begin after this time. */
const ENOUGH_MS = 8_000;
const PAGE = 'docs/operations.md, Encryption keys';

type Described = Extract<KeyProbe, { kind: 'described' }>;
type Fault = Exclude<KeyProbe, Described | { kind: 'unanswered' }>;

/**
 * Probes until every worker was asked, within limits. `clock`: the offset of a worker's clock from Temporal's.
 */
export async function checkKeys(session: Session): Promise<CheckWithClock> {
  const begunMs = Date.now();
  const first = await probeKeys(session);
  if (first.kind === 'unanswered')
    return {
      check: problem(CHECK, 'no worker answered within 30 s', "read the worker's log: it may be overloaded"),
    };
  const probes = [first];
  const workers = await pollingWorkers(session);
  const isDone = () => unasked(workers, probes).length === 0 || Date.now() - begunMs > ENOUGH_MS;
  for (let left = MORE_PROBES; left > 0 && !isDone(); left -= PROBES_AT_ONCE) {
    const more = Array.from({ length: PROBES_AT_ONCE }, () => probeKeys(session));
    const ended = await Promise.allSettled(more);
    for (const one of ended)
      if (one.status === 'fulfilled' && one.value.kind !== 'unanswered') probes.push(one.value);
  }
  return verdictOf(probes, unasked(workers, probes).length);
}

function unasked(workers: readonly string[], probes: readonly KeyProbe[]): string[] {
  return workers.filter((worker) => !probes.some((probe) => 'worker' in probe && probe.worker === worker));
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

function verdictOf(
  probes: readonly Exclude<KeyProbe, { kind: 'unanswered' }>[],
  notAsked: number,
): CheckWithClock {
  const described = probes.filter((probe) => probe.kind === 'described');
  const faults = probes.filter((probe) => probe.kind !== 'described');
  const bad = new Set(faults.map(({ worker }) => worker));
  const good = described.filter(({ worker }) => !bad.has(worker));
  const clock = described[0]?.clock;
  const check =
    faults.length === 0
      ? ok(CHECK, `${matchText(good)}${unaskedText(notAsked)}`)
      : faultCheck({ faults, bad: [...bad], good: namesOf(good), notAsked });
  return { check, ...(clock !== undefined && { clock }) };
}

interface Faults {
  faults: readonly Fault[];
  bad: readonly string[];
  good: readonly string[];
  notAsked: number;
}

function faultCheck({ faults, bad, good, notAsked }: Faults): Check {
  const texts = [...new Set(faults.map((fault) => faultText(fault)))];
  const others = good.length === 0 ? '' : `; ${workersText(good)}: no fault`;
  const logs = `the log of ${workersText(bad)} names the cause, usually a missing key`;
  const advice =
    good.length > 0
      ? `${logs}; set the PAYOUTS_ENCRYPTION_KEYS of the other workers there (${PAGE})`
      : `${logs}; set the same PAYOUTS_ENCRYPTION_KEYS there and here (${PAGE}). Other workers may be fine: another run of doctor may ask another worker`;
  return problem(CHECK, `${texts.join('; ')}${others}${unaskedText(notAsked)}`, advice);
}

function faultText(fault: Fault): string {
  const { worker } = fault;
  const own = ownKeys();
  if (fault.kind === 'unreadable')
    return fault.lacks === undefined
      ? `this machine (${own}) cannot decrypt what worker ${worker} encrypts: it has no key, or another key with the same id`
      : `worker ${worker} encrypts with the key ${fault.lacks}, which this machine lacks`;
  const what =
    fault.from === undefined ? `this machine encrypted (${own})` : `worker ${fault.from} encrypted`;
  const uses = fault.uses === undefined ? '' : ` (it encrypts with ${fault.uses})`;
  return `worker ${worker}${uses} could not process what ${what}`;
}

/** Workers with the same keys share a text. */
function matchText(described: readonly Described[]): string {
  if (described.every(({ description }) => description.payloadKeys.length === 0))
    return 'payloads are not encrypted: a test on loopback';
  const workersOf = new Map<string, Described[]>();
  for (const one of described) {
    const keys = keysText(one.description);
    workersOf.set(keys, [...(workersOf.get(keys) ?? []), one]);
  }
  const texts = [...workersOf].map(([keys, workers]) => `${workersText(namesOf(workers))}: ${keys}`);
  return [`match; this machine: ${ownKeys()}`, ...texts].join('; ');
}

function keysText({ payloadKeys, tokenKeys, authorizationKeys }: WorkerDescription): string {
  const tokens = tokenKeys.length > 0 ? `; token keys: ${tokenKeys.join(', ')}` : '';
  const codes = authorizationKeys.length > 0 ? `; authorization keys: ${authorizationKeys.join(', ')}` : '';
  return `${payloadKeys.join(', ')}${tokens}${codes}`;
}

function namesOf(described: readonly Described[]): string[] {
  return [...new Set(described.map(({ worker }) => worker))];
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

const POLL_INTERVAL_MS = 200;
const TIMEOUT_MS = 30_000;
/** `WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE`: also of a payload that cannot be decrypted. */
const UNHANDLED_FAILURE = 14;
const KEY_ID = /^[\w.-]{1,64}$/;

type Handle = WorkflowHandle<WorkflowSignatures['workerProbe']>;
type Events = NonNullable<Awaited<ReturnType<Handle['fetchHistory']>>['events']>;

/** Workers by their Temporal identity. */
type KeyProbe =
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
async function probeKeys({ client }: Session): Promise<KeyProbe> {
  const probe: Handle = await client.workflow.start<WorkflowSignatures['workerProbe']>('workerProbe', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: `worker-probe:${randomUUID()}`,
    workflowExecutionTimeout: '1 minute',
    args: ['doctor'],
  });
  const found = await until(() => look(probe), POLL_INTERVAL_MS, TIMEOUT_MS);
  if (found === undefined || found.kind === 'failed')
    await probe.terminate('no longer needed').catch(() => undefined);
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
