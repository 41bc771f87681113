/** What any process reads about an application's lease: its settings, which need no worker. */
import type { ApplicationFailure } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { SharedReads } from '../../client/shared-reads.ts';
import { leaseWorkflowId } from '../../contract/ids.ts';
import { type LeaseSettings, type SharedSettings, settingsIn } from '../../contract/rate-limit.ts';
import { inForce } from '../../domain/rate-limit.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { unlessGone } from '../../temporal/client-errors.ts';
import { failoverVersionOf } from '../../temporal/namespace.ts';
import { ownMemo } from '../../temporal/own-payloads.ts';
import { failure } from './failures.ts';

/** Payouts that ask at about the same time share one look. */
const FRESH_MS = 1_000;

export type LeaseLooks = ReturnType<typeof leaseLooks>;

export function leaseLooks(client: Client, environment: string, clock: Clock) {
  const looks = new SharedReads<LeaseSettings>({ freshMs: FRESH_MS, clock });
  const look = async (appId: string): Promise<LeaseSettings> => {
    const workflowId = leaseWorkflowId(environment, appId);
    const [failoverVersion, lease] = await Promise.all([
      failoverVersionOf(client),
      unlessGone(() => client.workflow.getHandle(workflowId).describe()),
    ]);
    const memo = await ownMemo(client, workflowId, lease?.raw.workflowExecutionInfo?.memo);
    return inForce(settingsIn(memo), failoverVersion);
  };
  return {
    /** Up to a second old. */
    recent: (appId: string) => looks.read(appId, () => look(appId)),
    /** Throws a retryable failure while they are missing, and after a failover. */
    async current(appId: string): Promise<SharedSettings> {
      const { shared } = await look(appId);
      if (!shared) throw settingsMissing();
      return shared;
    },
  };
}

export function settingsMissing(): ApplicationFailure {
  return failure(
    'SETTINGS_MISSING',
    'the shared settings of the application are missing, or from before a failover: payouts settings',
  );
}
