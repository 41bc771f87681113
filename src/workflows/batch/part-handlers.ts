/** What a part is told by its batch. */
import { stopStartingSignal, turnSignal } from '../../contract/batch-messages.ts';
import { onSignal } from '../shared/raw-signal.ts';
import type { PartRun } from './part-run.ts';

export function installPartHandlers(part: PartRun): void {
  onSignal(turnSignal, () => {
    part.record.hasTurn = true;
    part.batchIsGone = false;
    part.mustReport = true;
  });
  onSignal(stopStartingSignal, () => part.stopStarting());
}
