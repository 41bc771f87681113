/** A payout that ended without publishing its event, as its workflow leaves it. */
import { setHandler } from '@temporalio/workflow';
import { eventsQuery } from '../../src/contract/event-messages.ts';
import type { RecordedEvent } from '../../src/domain/event-log.ts';

export async function payout(events: RecordedEvent[]): Promise<void> {
  setHandler(eventsQuery, () => events);
}
