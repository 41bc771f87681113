/** Whether this machine and the workers can decrypt each other's payloads. */
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { Environment } from '../../../config/environment.ts';
import { encryptionKeys } from '../../../config/keys.ts';
import { PAYOUTS_TASK_QUEUE } from '../../../contract/ids.ts';
import type { WorkerDescription } from '../../../contract/workflows.ts';
import type { Session } from '../session.ts';
import { type Check, type CheckWithClock, ok, problem } from './check.ts';
import { type KeyProbe, probeKeys } from './key-probe.ts';

const CHECK = 'encryption keys';
/** `TASK_QUEUE_TYPE_WORKFLOW` */
const WORKFLOW_TASKS = 1;
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
  return verdictOf(probes, unasked(workers, probes).length, session.variables);
}

function unasked(workers: readonly string[], probes: readonly KeyProbe[]): string[] {
  return workers.filter((worker) => !probes.some((probe) => 'worker' in probe && probe.worker === worker));
}

/** The identities of the workers that poll for workflows. */
async function pollingWorkers({ client, namespace, withDeadline }: Session): Promise<string[]> {
  const request = { namespace, taskQueue: { name: PAYOUTS_TASK_QUEUE }, taskQueueType: WORKFLOW_TASKS };
  const { pollers } = await withDeadline(() => client.workflowService.describeTaskQueue(request));
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
  variables: Environment,
): CheckWithClock {
  const described = probes.filter((probe) => probe.kind === 'described');
  const faults = probes.filter((probe) => probe.kind !== 'described');
  const bad = new Set(faults.map(({ worker }) => worker));
  const good = described.filter(({ worker }) => !bad.has(worker));
  const clock = described[0]?.clock;
  const check =
    faults.length === 0
      ? ok(CHECK, `${matchText(good, variables)}${unaskedText(notAsked)}`)
      : faultCheck({ faults, bad: [...bad], good: namesOf(good), notAsked, variables });
  return { check, ...(clock !== undefined && { clock }) };
}

interface Faults {
  faults: readonly Fault[];
  bad: readonly string[];
  good: readonly string[];
  notAsked: number;
  variables: Environment;
}

function faultCheck({ faults, bad, good, notAsked, variables }: Faults): Check {
  const texts = [...new Set(faults.map((fault) => faultText(fault, variables)))];
  const others = good.length === 0 ? '' : `; ${workersText(good)}: no fault`;
  const logs = `the log of ${workersText(bad)} names the cause, usually a missing key`;
  const advice =
    good.length > 0
      ? `${logs}; set the PAYOUTS_ENCRYPTION_KEYS of the other workers there (${PAGE})`
      : `${logs}; set the same PAYOUTS_ENCRYPTION_KEYS there and here (${PAGE}). Other workers may be fine: another run of doctor may ask another worker`;
  return problem(CHECK, `${texts.join('; ')}${others}${unaskedText(notAsked)}`, advice);
}

function faultText(fault: Fault, variables: Environment): string {
  const { worker } = fault;
  const own = ownKeys(variables);
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
function matchText(described: readonly Described[], variables: Environment): string {
  if (described.every(({ description }) => description.payloadKeys.length === 0))
    return 'payloads are not encrypted: a test on loopback';
  const workersOf = new Map<string, Described[]>();
  for (const one of described) {
    const keys = keysText(one.description);
    workersOf.set(keys, [...(workersOf.get(keys) ?? []), one]);
  }
  const texts = [...workersOf].map(([keys, workers]) => `${workersText(namesOf(workers))}: ${keys}`);
  return [`match; this machine: ${ownKeys(variables)}`, ...texts].join('; ');
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

function ownKeys(variables: Environment): string {
  return encryptionKeys(variables).payloads?.ids.join(', ') ?? 'no key';
}
