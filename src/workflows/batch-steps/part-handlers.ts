/** What a part is told by its batch. */
import { setHandler } from '@temporalio/workflow';
import { stopStartingSignal, turnSignal } from '../batch-messages.ts';
import type { PartLife } from './part-life.ts';

export function installPartHandlers(part: PartLife): void {
  setHandler(turnSignal, () => {
    part.record.hasTurn = true;
    part.batchIsGone = false;
    part.mustReport = true;
  });
  setHandler(stopStartingSignal, () => part.stopStarting());
}
