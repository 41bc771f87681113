/** The outgoing events of one workflow, as its state keeps them. */

export const EVENT_TYPES = [
  'payout.completed',
  'payout.needs_attention',
  'payout.attention_cleared',
  'payout.awaiting_approval',
  'payout.changed_after_end',
  'batch.completed',
  'token.needs_authorization',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** What `payouts events test` sends. No filter applies to it. */
export const TEST_EVENT_TYPE = 'endpoint.test' as const;

export interface RecordedEvent {
  /** `webhook-id`. The same for every delivery of the event. */
  id: string;
  type: EventType | typeof TEST_EVENT_TYPE;
  data: object;
  /** When it was published. ISO 8601. Absent before. */
  timestamp?: string;
  /** Every endpoint that wants it has it in its queue. */
  isQueued?: true;
}

/** The latest event last. It survives continue-as-new, so it is plain data. */
export interface EventLog {
  events: RecordedEvent[];
  /** What the last events published, so that only a change publishes another one. */
  published: {
    codes?: string[];
    approvalOf?: string;
    isCompleted?: true;
    changes?: string;
    needsAuthorization?: boolean;
  };
}

const MAX_QUEUED = 50;
const MAX_LOGGED = 100;

export function newEventLog(): EventLog {
  return { events: [], published: {} };
}

/** Without the oldest events: of those that are queued, the last 50 are kept. */
export function trimmed(events: readonly RecordedEvent[]): RecordedEvent[] {
  const queued = events.filter(({ isQueued }) => isQueued);
  const surplus = queued.slice(0, Math.max(0, queued.length - MAX_QUEUED));
  return events.filter((event) => !surplus.includes(event)).slice(-MAX_LOGGED);
}

/** The body of an event, as it is signed and sent. */
export function bodyOf({
  type,
  timestamp,
  data,
}: Pick<RecordedEvent, 'type' | 'timestamp' | 'data'>): string {
  return JSON.stringify({ type, timestamp, data });
}
