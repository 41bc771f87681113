/** Temporal: its version, the namespace and its retention, the search attributes. */
import { isGrpcServiceError } from '@temporalio/client';
import { followUpsMs } from '../../../config/client-config.ts';
import { DAY_MS, HOUR_MS } from '../../../domain/time.ts';
import { isUnserved } from '../../../temporal/client-errors.ts';
import {
  missingSearchAttributes,
  namespaceCommand,
  registrationCommand,
} from '../../../temporal/namespace.ts';
import type { Session } from '../session.ts';
import { type Check, checkOrUnknown, ok, problem, unknown } from './check.ts';
import { TEMPORAL } from './checks.ts';

/** gRPC status code. */
const NOT_FOUND = 5;
/** A follow-up needs the history of the payout until its last check is done. */
const MARGIN_MS = DAY_MS;

export async function checkVersion({ client, address, withDeadline }: Session): Promise<Check> {
  const { serverVersion } = await withDeadline(() => client.workflowService.getSystemInfo({}));
  return ok(TEMPORAL, `${address}, server ${serverVersion || 'version unknown'}`);
}

/** `missing`: the namespace does not exist, so nothing else can be checked. */
export async function checkNamespace(
  { client, namespace, variables, withDeadline }: Session,
  environment: string,
): Promise<{ check: Check; missing: boolean }> {
  try {
    const { config } = await withDeadline(() => client.workflowService.describeNamespace({ namespace }));
    const retentionMs = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) * 1_000;
    return { check: retention(namespace, retentionMs, environment, followUpsMs(variables)), missing: false };
  } catch (error) {
    if (!isGrpcServiceError(error) || isUnserved(error)) throw error;
    const missing = error.code === NOT_FOUND;
    const check = missing
      ? problem(
          'namespace',
          `${namespace} does not exist`,
          `set TEMPORAL_NAMESPACE, or: ${namespaceCommand(namespace)}`,
        )
      : unknown(
          'namespace',
          `${namespace} cannot be read: ${error.details}`,
          'ask the operator of Temporal for its retention',
        );
    return { check, missing };
  }
}

/** Histories of ended payouts prove what was sent, and follow-ups read them. */
function retention(
  namespace: string,
  retentionMs: number,
  environment: string,
  followUps: readonly number[] = [],
): Check {
  const neededMs = Math.max(0, ...followUps) + MARGIN_MS;
  const detail = `${namespace} has a retention of ${days(retentionMs)}`;
  if (retentionMs >= neededMs) return ok('namespace', detail);
  if (environment === 'test')
    return ok('namespace', `${detail}: enough for tests; production needs ${days(neededMs)}`);
  return problem(
    'namespace',
    `${detail}, but follow-ups need ${days(neededMs)}`,
    `temporal operator namespace update --retention ${Math.ceil(neededMs / DAY_MS)}d --namespace ${namespace}`,
  );
}

function days(ms: number): string {
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} hours` : `${Math.round(ms / DAY_MS)} days`;
}

export async function checkSearchAttributes({ client, namespace, withDeadline }: Session): Promise<Check> {
  const check = 'search attributes';
  const advice = 'start a worker: it registers missing ones, or prints the command and exits';
  return checkOrUnknown(check, advice, async () => {
    const missing = await withDeadline(() => missingSearchAttributes(client.connection, namespace));
    if (missing.length === 0) return ok(check, 'all registered');
    return problem(check, `missing: ${missing.join(', ')}`, registrationCommand(missing, namespace));
  });
}
