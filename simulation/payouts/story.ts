/** A world in words: strikes, people, calls to the provider and the turns of each payout that something is wrong with. */

import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import type { PayoutWorld } from './payout-world.ts';

/** `about`: a payout, or a process. */
export interface Told {
  atMs: number;
  about: string;
  what: string;
  /** Of a person, by name. */
  act?: string;
}

/** What says little: every workflow task has three of them. */
const DULL: ReadonlySet<EventType> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
  EventType.EVENT_TYPE_TIMER_STARTED,
  EventType.EVENT_TYPE_TIMER_CANCELED,
  EventType.EVENT_TYPE_MARKER_RECORDED,
]);

/** Of the payouts that a violation names; of everything where none does. */
export function storyOf(
  { world, server, provider }: PayoutWorld,
  begunMs: number,
  told: readonly Told[],
): string[] {
  const named = new Set(world.violations.flatMap((violation) => violation.match(/\bp-\d+\b/g) ?? []));
  const isOf = (payout: string | null | undefined) => named.size === 0 || named.has(payout ?? '');
  const isPayout = (about: string) => about.startsWith('p-');
  const lines: Told[] = [
    ...told.filter(({ about }) => !isPayout(about) || isOf(about)),
    ...provider.control
      .calls()
      .filter(({ partnerOrderId }) => isOf(partnerOrderId))
      .map((call) => ({
        atMs: Date.parse(call.at),
        about: call.partnerOrderId ?? 'provider',
        what: `${call.operation}: ${call.status} ${call.code ?? ''}${call.fault === null ? '' : ` (${call.fault})`}`,
      })),
    ...server.runs.flatMap((run) => turnsOf(run).filter(({ about }) => isOf(about))),
  ];
  return lines
    .toSorted((one, other) => one.atMs - other.atMs)
    .map(
      ({ atMs, about, what }) => `${((atMs - begunMs) / 1_000).toFixed(3).padStart(9)} s  ${about}  ${what}`,
    );
}

function turnsOf({ workflowId, runId, entries }: Run): Told[] {
  const payout = /^payout(?:-follow-up)?:default:(.+)$/.exec(workflowId)?.[1];
  if (payout === undefined) return [];
  return entries
    .filter(({ type }) => !DULL.has(type))
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
