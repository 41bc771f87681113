/**
 * The timeline of a world as text: faults, actions of people, calls to the provider and history events of payouts.
 */

import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import type { PayoutWorld } from './payout-world.ts';

/** `about`: a payout, or a process. */
export interface TimelineEntry {
  atMs: number;
  about: string;
  what: string;
  /** The action of a person. */
  action?: string;
}

/** Events with little information. Every workflow task has three of them. */
const OMITTED_EVENTS: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
  EventType.EVENT_TYPE_TIMER_STARTED,
  EventType.EVENT_TYPE_TIMER_CANCELED,
  EventType.EVENT_TYPE_MARKER_RECORDED,
]);

/** Limited to the payouts that a violation names, if there is one. */
export function timelineLines(
  { world, server, provider }: PayoutWorld,
  startedAtMs: number,
  timeline: readonly TimelineEntry[],
): string[] {
  const mentioned = new Set(world.violations.flatMap((violation) => violation.match(/\bp-\d+\b/g) ?? []));
  const concerns = (payout: string | null | undefined) => mentioned.size === 0 || mentioned.has(payout ?? '');
  const isPayout = (about: string) => about.startsWith('p-');
  const lines: TimelineEntry[] = [
    ...timeline.filter(({ about }) => !isPayout(about) || concerns(about)),
    ...provider.control
      .calls()
      .filter(({ partnerOrderId }) => concerns(partnerOrderId))
      .map((call) => ({
        atMs: Date.parse(call.at),
        about: call.partnerOrderId ?? 'provider',
        what: `${call.operation}: ${call.status} ${call.code ?? ''}${call.fault === null ? '' : ` (${call.fault})`}`,
      })),
    ...server.runs.flatMap((run) => runEntries(run).filter(({ about }) => concerns(about))),
  ];
  return lines
    .toSorted((one, other) => one.atMs - other.atMs)
    .map(
      ({ atMs, about, what }) =>
        `${((atMs - startedAtMs) / 1_000).toFixed(3).padStart(9)} s  ${about}  ${what}`,
    );
}

function runEntries({ workflowId, runId, entries }: Run): TimelineEntry[] {
  const payout = /^payout(?:-follow-up)?:[^:]+:(.+)$/.exec(workflowId)?.[1];
  if (payout === undefined) return [];
  return entries
    .filter(({ type }) => !OMITTED_EVENTS.has(type))
    .map(({ at, type, event }) => {
      const { activityTaskScheduledEventAttributes: scheduled, activityTaskFailedEventAttributes: failed } =
        event;
      const name =
        scheduled?.activityType?.name ??
        failed?.failure?.applicationFailureInfo?.type ??
        event.workflowExecutionSignaledEventAttributes?.signalName ??
        '';
      const phase = phaseIn(
        event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields,
      );
      const what = EventType[type].replace('EVENT_TYPE_', '').toLowerCase().replaceAll('_', ' ');
      return { atMs: at, about: payout, what: `run ${runId.slice(0, 4)}: ${what} ${name}${phase}`.trimEnd() };
    });
}

function phaseIn(fields: Run['attributes'] | null | undefined): string {
  return Buffer.from(fields?.['PayoutPhase']?.data ?? []).toString();
}
