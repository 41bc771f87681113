/**
 * Reads the grants of a user's renewal from its histories. Only one run is open at a time, but the run after a
 * termination starts empty, and a Workflow Reset makes a run that lacks all later renewals. A rotated refresh token must
 * not be sent again, because the provider may then revoke the newer tokens too.
 */
import type { Client } from '@temporalio/client';
import type { LoadedDataConverter } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import { visibilityLags } from '../../activities/shared/failures.ts';
import type { GrantHistories } from '../../activities/tokens/token-activities.ts';
import type { Grant } from '../../contract/tokens.ts';
import { authorizedSignal } from '../../contract/workflows.ts';
import { firstEvents, type HistoryEvent, type WorkflowRun, wholeHistory } from '../../temporal/histories.ts';
import { type ListedRun, listRunsOf } from '../../temporal/visibility.ts';

type Payloads = temporal.api.common.v1.IPayloads | null | undefined;

const GRANTING: readonly unknown[] = ['refreshUserToken', 'recallGrant'];
const RECALL = 'recallGrant';

const grantSchema = z.object({
  access: z.string(),
  fingerprint: z.string(),
  lifetimeMs: z.number(),
  refresh: z.string().optional(),
  refreshLifetimeMs: z.number().optional(),
  obtainedAtMs: z.number(),
});
/** The record that a run receives when its predecessor continues as new. */
const recordSchema = z.object({ held: grantSchema });

export function tokenHistories(client: Client): GrantHistories {
  const converter = client.options.loadedDataConverter;

  /** The last closed run first, back to a run without reset that completed its recall: it knew all earlier grants. */
  const grantsElsewhere = async (own: WorkflowRun): Promise<Grant[]> => {
    const found: Grant[] = [];
    for (const runId of await otherRuns(client, own)) {
      const events = await wholeHistory(client, { workflowId: own.workflowId, runId });
      if (!events) continue;
      found.push(...(await grantsIn(converter, events)));
      if (!isMadeByReset(events, runId) && hasRecalled(events)) break;
    }
    return found;
  };
  const isReset = async (own: WorkflowRun): Promise<boolean> =>
    isMadeByReset(await firstEvents(client, own, 1), own.runId);

  return {
    isReset,
    newestElsewhere: async (own) => newest(await grantsElsewhere(own)),
    async newerThan(own, sealedRefresh) {
      // Every run that no reset made called `newestElsewhere` at its start.
      if (!(await isReset(own))) return undefined;
      const here = await grantsIn(converter, (await wholeHistory(client, own)) ?? []);
      const latest = newest([...here, ...(await grantsElsewhere(own))]);
      return latest && latest.refresh !== sealedRefresh ? latest : undefined;
    },
    async startedAtMs({ workflowId, runId }, activityId) {
      const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
      const pending = raw.pendingActivities?.find((one) => one.activityId === activityId);
      return pending?.lastStartedTime ? tsToMs(pending.lastStartedTime) : undefined;
    },
  };
}

/** The last closed first. A list with this run very likely has all earlier runs, but without guarantee. */
async function otherRuns(client: Client, { workflowId, runId: ownRunId }: WorkflowRun): Promise<string[]> {
  const runs = await listRunsOf(client, workflowId);
  const closedMs = (run: ListedRun) => run.closedMs ?? Number.POSITIVE_INFINITY;
  if (!runs.some(({ runId }) => runId === ownRunId)) throw visibilityLags();
  return runs
    .filter(({ runId }) => runId !== ownRunId)
    .sort((one, two) => (closedMs(one) === closedMs(two) ? 0 : closedMs(two) - closedMs(one)))
    .map(({ runId }) => runId);
}

async function grantsIn(converter: LoadedDataConverter, events: readonly HistoryEvent[]): Promise<Grant[]> {
  const decoded = async (payloads: Payloads) =>
    (await decodeArrayFromPayloads(converter, payloads?.payloads)) ?? [];
  const granting = new Set<string>();
  const found: Grant[] = [];
  for (const event of events) {
    const {
      activityTaskScheduledEventAttributes: scheduled,
      activityTaskCompletedEventAttributes: completed,
      workflowExecutionSignaledEventAttributes: signal,
      workflowExecutionStartedEventAttributes: start,
    } = event;
    if (GRANTING.includes(scheduled?.activityType?.name)) granting.add(`${event.eventId}`);
    if (granting.has(`${completed?.scheduledEventId}`))
      found.push(...grantIn((await decoded(completed?.result))[0]));
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
  return grants.reduce<Grant | undefined>(
    (latest, grant) => (latest && latest.obtainedAtMs >= grant.obtainedAtMs ? latest : grant),
    undefined,
  );
}

/** A reset copies the first event, which still names the original run. */
function isMadeByReset([first]: readonly HistoryEvent[], runId: string): boolean {
  return first?.workflowExecutionStartedEventAttributes?.originalExecutionRunId !== runId;
}

function hasRecalled(events: readonly HistoryEvent[]): boolean {
  const scheduled = events
    .filter(({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name === RECALL)
    .map(({ eventId }) => `${eventId}`);
  return events.some(({ activityTaskCompletedEventAttributes: one }) =>
    scheduled.includes(`${one?.scheduledEventId}`),
  );
}
