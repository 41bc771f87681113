/**
 * What each recorded history costs, for docs/scaling.md: history events, bytes, and billable actions of Temporal Cloud.
 * Queries and heartbeats are actions, too, and leave no history event.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type History, historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import proto from '@temporalio/proto';
import { code, table } from './markdown.ts';

const ROOT = join(import.meta.dirname, '..');
const HISTORIES = join(ROOT, 'test/histories');
export const SCALING_PAGE = join(ROOT, 'docs/scaling.md');
const BEGIN = '<!-- Written by npm run generate. -->';
const END = '<!-- End of the written part. -->';

export interface HistoryCost {
  name: string;
  events: number;
  bytes: number;
  actions: number;
}

const { EventType } = proto.temporal.api.enums.v1;
/** History events that are one action each, besides the attempts of activities. */
const ACTIONS: ReadonlySet<number> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
  EventType.EVENT_TYPE_TIMER_STARTED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
  EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
  EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
  EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
  EventType.EVENT_TYPE_MARKER_RECORDED,
  EventType.EVENT_TYPE_NEXUS_OPERATION_SCHEDULED,
]);

export function historyCosts(): HistoryCost[] {
  return readdirSync(HISTORIES)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => ({
      name: file.replace(/\.json$/, ''),
      ...costOf(historyFromJSON(JSON.parse(readFileSync(join(HISTORIES, file), 'utf8')))),
    }));
}

function costOf(history: History): Omit<HistoryCost, 'name'> {
  const events = history.events ?? [];
  const actions = events.map(({ eventType, activityTaskStartedEventAttributes: started }) =>
    started ? Math.max(1, started.attempt ?? 1) : Number(ACTIONS.has(eventType ?? 0)),
  );
  return {
    events: events.length,
    bytes: proto.temporal.api.history.v1.History.encode(history).finish().length,
    actions: actions.reduce((sum, count) => sum + count, 0),
  };
}

/** The page with the figures of today's histories. */
export function scalingPage(): string {
  const page = readFileSync(SCALING_PAGE, 'utf8');
  const [before, rest = ''] = page.split(`${BEGIN}\n`);
  const [, after] = rest.split(END);
  if (before === undefined || after === undefined) throw new Error('docs/scaling.md has no part to write');
  const rows = historyCosts().map(({ name, events, actions, bytes }) => [
    code(name),
    `${events}`,
    `${actions}`,
    `${bytes}`,
  ]);
  const written = table(['history', 'events', 'actions', 'bytes'], rows, 1);
  return `${before}${BEGIN}\n\n${written}\n\n${END}${after}`;
}
