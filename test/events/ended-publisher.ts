/** A payout that ended without publishing its event, as its workflow leaves it. */
import { setHandler } from '@temporalio/workflow';
import type { RecordedEvent } from '../../src/contract/events.ts';
import { eventsQuery } from '../../src/contract/workflows.ts';

export async function payout(events: RecordedEvent[]): Promise<void> {
  setHandler(eventsQuery, () => events);
}
