/**
 * Reads the grants of a user's renewal from its histories. Only one run is open at a time, but the run after a
 * termination starts empty, and a Workflow Reset makes a run that lacks all later renewals. A rotated refresh token must
 * not be sent again, because the provider may then revoke the newer tokens too.
 */
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { type Grant, grantSchema } from '../../contract/tokens.ts';
import { authorizedSignal } from '../../contract/workflows.ts';
import { firstEvents, type HistoryEvent, type WorkflowRun, wholeHistory } from '../../temporal/histories.ts';
import { contextOf } from '../../temporal/own-payloads.ts';
import type { ListedRun } from '../../temporal/visibility.ts';
import { otherListedRuns } from '../payout/earlier-runs.ts';

type Payloads = temporal.api.common.v1.IPayloads | null | undefined;

const RECALL = 'recallGrant';
const GRANTING = ['refreshUserToken', RECALL];

/** The record that a run receives when its predecessor continues as new. */
const recordSchema = z.object({ held: grantSchema });

export type GrantHistories = ReturnType<typeof tokenHistories>;

export function tokenHistories(client: Client) {
  /** From the last closed run back to a run without reset that completed its recall: it knew all earlier grants. */
  const grantsElsewhere = async (own: WorkflowRun): Promise<Grant[]> => {
    const found: Grant[] = [];
    const closedMs = (run: ListedRun) => run.closedMs ?? Number.MAX_SAFE_INTEGER;
    const others = await otherListedRuns(client, own);
    for (const { runId } of others.sort((one, two) => closedMs(two) - closedMs(one))) {
      const events = await wholeHistory(client, { workflowId: own.workflowId, runId });
      if (!events) continue;
      found.push(...(await grantsIn(client, own.workflowId, events)));
      if (!isMadeByReset(events, runId) && completedIn(events, [RECALL]).size > 0) break;
    }
    return found;
  };
  /** Whether a Workflow Reset made this run, so that what it sends may have been sent before. */
  const isReset = async (own: WorkflowRun): Promise<boolean> =>
    isMadeByReset(await firstEvents(client, own, 1), own.runId);

  return {
    isReset,
    newestElsewhere: async (own: WorkflowRun) => newest(await grantsElsewhere(own)),
    /** The newest grant, if another run obtained one after the grant with this sealed refresh token. */
    async newerThan(own: WorkflowRun, sealedRefresh: string): Promise<Grant | undefined> {
      // Every run that no reset made called `newestElsewhere` at its start.
      if (!(await isReset(own))) return undefined;
      const here = await grantsIn(client, own.workflowId, (await wholeHistory(client, own)) ?? []);
      const latest = newest([...here, ...(await grantsElsewhere(own))]);
      return latest && latest.refresh !== sealedRefresh ? latest : undefined;
    },
    /** When the latest attempt of a running activity started. Unix milliseconds on Temporal's clock. */
    async startedAtMs({ workflowId, runId }: WorkflowRun, activityId: string): Promise<number | undefined> {
      const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
      const pending = raw.pendingActivities?.find((one) => one.activityId === activityId);
      return pending?.lastStartedTime ? tsToMs(pending.lastStartedTime) : undefined;
    },
  };
}

async function grantsIn(
  client: Client,
  workflowId: string,
  events: readonly HistoryEvent[],
): Promise<Grant[]> {
  const converter = client.options.loadedDataConverter;
  const context = contextOf(client, workflowId);
  const decoded = async (payloads: Payloads) =>
    (await decodeArrayFromPayloads(converter, payloads?.payloads, context)) ?? [];
  const granting = completedIn(events, GRANTING);
  const found: Grant[] = [];
  for (const event of events) {
    const {
      activityTaskCompletedEventAttributes: completed,
      workflowExecutionSignaledEventAttributes: signal,
      workflowExecutionStartedEventAttributes: start,
    } = event;
    if (granting.has(event)) found.push(...grantIn((await decoded(completed?.result))[0]));
    if (signal?.signalName === authorizedSignal.name)
      found.push(...grantIn((await decoded(signal.input))[0]));
    const [, record] = start ? await decoded(start.input) : [];
    const parsed = recordSchema.safeParse(record);
    if (parsed.success) found.push(parsed.data.held);
  }
  return found;
}

function grantIn(value: unknown): Grant[] {
  const parsed = grantSchema.safeParse(value);
  return parsed.success ? [parsed.data] : [];
}

function newest(grants: readonly Grant[]): Grant | undefined {
  return grants.toSorted((one, two) => two.obtainedAtMs - one.obtainedAtMs)[0];
}

/** A reset copies the first event, which still names the original run. */
function isMadeByReset([first]: readonly HistoryEvent[], runId: string): boolean {
  return first?.workflowExecutionStartedEventAttributes?.originalExecutionRunId !== runId;
}

/** The events that complete activities of these types. */
function completedIn(events: readonly HistoryEvent[], types: readonly unknown[]): Set<HistoryEvent> {
  const scheduled = events
    .filter(({ activityTaskScheduledEventAttributes: one }) => types.includes(one?.activityType?.name))
    .map(({ eventId }) => `${eventId}`);
  return new Set(
    events.filter(({ activityTaskCompletedEventAttributes: one }) =>
      scheduled.includes(`${one?.scheduledEventId}`),
    ),
  );
}
