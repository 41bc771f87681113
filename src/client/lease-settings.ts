/** The settings of a rate-limit lease, as its workflow has them or will have them. Reading them needs no worker. */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { z } from 'zod';
import { type LeaseSettings, settingsIn } from '../contract/rate-limit.ts';
import { pauseUpdate, resumeUpdate, setCallsPerSecondUpdate } from '../contract/workflows.ts';
import { changeProblem, pauseProblem } from '../domain/rate-limit.ts';
import { type HistoryEvent, wholeHistory } from '../temporal/histories.ts';
import { ownMemo, ownValue } from '../temporal/own-payloads.ts';

/**
 * In a run that a Workflow Reset created, pauses and rates from after the point of the reset are admitted updates until a
 * worker runs them, and the memo is from before them (H371).
 */
export async function latestSettings(
  client: Client,
  { workflowId, runId, raw, status, historyLength }: WorkflowExecutionDescription,
): Promise<LeaseSettings> {
  let settings = settingsIn(await ownMemo(client, workflowId, raw.workflowExecutionInfo?.memo));
  if (status.name === 'RUNNING' && !raw.pendingWorkflowTask) return settings;
  const events = (await wholeHistory(client, { workflowId, runId })) ?? [];
  const completed = events.findLastIndex((event) => event.workflowTaskCompletedEventAttributes);
  // A worker was faster, and the memo is from before its changes.
  if (Number(events[completed]?.eventId ?? 0) > historyLength)
    return latestSettings(client, await client.workflow.getHandle(workflowId, runId).describe());
  for (const event of events.slice(completed + 1))
    settings = await settingsAfter(client, workflowId, event, settings);
  return settings;
}

const updates: Readonly<Record<string, (argument: unknown) => string | undefined>> = {
  [setCallsPerSecondUpdate.name]: changeProblem,
  [pauseUpdate.name]: pauseProblem,
  [resumeUpdate.name]: pauseProblem,
};
const argumentSchema = z.object({
  update: z.string().exactOptional(),
  by: z.string(),
  reason: z.string().optional().catch(undefined),
  callsPerSecond: z.number().nullable().catch(null),
});

/** As the workflow changes them: an update that it would reject changes nothing. One from without keys is a pause. */
async function settingsAfter(
  client: Client,
  workflowId: string,
  event: HistoryEvent,
  settings: LeaseSettings,
): Promise<LeaseSettings> {
  const { name, args } = event.workflowExecutionUpdateAdmittedEventAttributes?.request?.input ?? {};
  const problem = updates[name ?? ''];
  if (!problem) return settings;
  const [payload] = args?.payloads ?? [];
  const argument = await ownValue<unknown>(client, workflowId, payload);
  if (payload && argument === undefined) return pausedBy(event, settings);
  const asked = argumentSchema.safeParse(argument).data;
  if (!asked || problem(argument) || (asked.update ?? name) !== name) return settings;
  const { by, reason, callsPerSecond } = asked;
  if (name === pauseUpdate.name) return pausedBy(event, settings, { by, reason });
  if (name === resumeUpdate.name) return { ...settings, paused: undefined };
  return { ...settings, callsPerSecond: callsPerSecond ?? undefined, changedBy: by };
}

const UNREADABLE = { by: 'durable payouts', reason: "a change from before a Workflow Reset isn't encrypted" };

/** A pause stays as it is. */
function pausedBy(
  event: HistoryEvent,
  settings: LeaseSettings,
  pause: { by: string; reason?: string | undefined } = UNREADABLE,
): LeaseSettings {
  const at = new Date(tsToMs(event.eventTime)).toISOString();
  return { ...settings, paused: settings.paused ?? { ...pause, at } };
}
