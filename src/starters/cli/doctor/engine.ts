/** Temporal itself: its version, the namespace and how long it keeps what has ended, the search attributes. */
import { isGrpcServiceError } from '@temporalio/client';
import { followUpsMs } from '../../../config/client-config.ts';
import { missingSearchAttributes, registrationCommand } from '../../../temporal/search-attributes.ts';
import type { Session } from '../session.ts';
import { type Check, messageOf, problem, unknown, well } from './check.ts';

/** gRPC's own number. */
const NOT_FOUND = 5;
const DAY_MS = 86_400_000;
/** A look after the end needs the history until it is over. */
const MARGIN_MS = DAY_MS;

export async function engineVersion({ client, address, soon }: Session): Promise<Check> {
  const { serverVersion } = await soon(() => client.workflowService.getSystemInfo({}));
  return well('engine', `${address}, server ${serverVersion || 'of unknown version'}`);
}

/** `missing`: there is no such namespace, so nothing else can be looked at. */
export async function namespaceKept(
  { client, namespace, soon }: Session,
  environment: string,
): Promise<{ check: Check; missing: boolean }> {
  try {
    const { config } = await soon(() => client.workflowService.describeNamespace({ namespace }));
    const keptMs = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1_000;
    return { check: retention(namespace, keptMs, environment), missing: false };
  } catch (error) {
    if (!isGrpcServiceError(error)) throw error;
    return error.code === NOT_FOUND
      ? { check: noNamespace(namespace), missing: true }
      : { check: notShown(namespace, error.details), missing: false };
  }
}

function noNamespace(namespace: string): Check {
  const create = `temporal operator namespace create --retention 90d --namespace ${namespace}`;
  return problem(
    'namespace',
    `the engine has no namespace ${namespace}`,
    `set TEMPORAL_NAMESPACE, or: ${create}`,
  );
}

function notShown(namespace: string, why: string): Check {
  const advice = 'ask whoever runs the engine how long it keeps ended workflows';
  return unknown('namespace', `this machine may not look at ${namespace}: ${why}`, advice);
}

/** Ended histories are the evidence of what was sent, and follow-ups look back at them. */
function retention(namespace: string, keptMs: number, environment: string): Check {
  const leastMs = Math.max(0, ...(followUpsMs(process.env) ?? [])) + MARGIN_MS;
  const kept = `${namespace} keeps ended payouts for ${days(keptMs)}`;
  if (keptMs >= leastMs) return well('namespace', kept);
  if (environment === 'test')
    return well('namespace', `${kept}: enough for a test, real money needs ${days(leastMs)} or more`);
  return problem(
    'namespace',
    `${kept}, but is looked back at for ${days(leastMs)}`,
    `temporal operator namespace update --retention ${Math.ceil(leastMs / DAY_MS)}d --namespace ${namespace}`,
  );
}

function days(ms: number): string {
  return ms < 2 * DAY_MS ? `${Math.round(ms / 3_600_000)} hours` : `${Math.round(ms / DAY_MS)} days`;
}

export async function searchAttributes({ client, namespace, soon }: Session): Promise<Check> {
  const check = 'search attributes';
  try {
    const missing = await soon(() => missingSearchAttributes(client.connection, namespace));
    if (missing.length === 0) return well(check, 'all there');
    const command = registrationCommand(missing, namespace);
    return problem(check, `missing: ${missing.join(', ')}`, command);
  } catch (error) {
    const advice = 'start a worker: it registers what is missing, or prints the command and ends';
    return unknown(check, `this machine may not look: ${messageOf(error)}`, advice);
  }
}
