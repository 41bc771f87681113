/**
 * Whether the order may be there already, before this run does anything that could end it without one: a run of
 * before may have created it, and an account that is empty by now, or an approval that nobody gives twice, says
 * nothing about that (H6, H7, H10).
 */
import { patched, workflowInfo } from '@temporalio/workflow';
import { local } from '../calls.ts';
import { isDoubtful } from '../doubtful-start.ts';
import { doubt } from './create-once.ts';
import type { PayoutLife } from './payout-life.ts';
import { review, settle } from './unknown-order.ts';

/** Stops of one payout's workflow that pass as somebody's mistake. */
const STOPS_BEFORE_FLAG = 3;

/** A start that does not promise a fresh number is asked about before anything else. */
export async function askFirstWhereDoubtful(life: PayoutLife): Promise<void> {
  if (!isDoubtful(life.settings) || life.isContinued || !asks(life, 'ask-first')) return;
  flagRepeatedStops(life, workflowInfo().memo?.['stops']);
  await askFirst(life);
}

/** True when the order was found after all. A Workflow Reset makes a run that cannot know what was sent. */
export async function existsAfterAll(life: PayoutLife): Promise<boolean> {
  if (life.record.creation.stage !== 'quoting' || life.cleared) return false;
  // The comparison is an activity's business: here a reset run would replay differently from its own history.
  if (!asks(life, 'ask-before-not-created')) return false;
  if (await local.isFirstRun(workflowInfo().firstExecutionRunId)) return false;
  await askFirst(life);
  return wasFound(life);
}

/** Where the settings do not say so, the run began before they did, and its history holds the marker or does not. */
function asks(life: PayoutLife, marker: string): boolean {
  return life.settings.asksFirst === true || patched(marker);
}

async function askFirst(life: PayoutLife): Promise<void> {
  doubt(life, 'earlier-run');
  while (!life.cleared && !wasFound(life))
    life.cleared = life.record.creation.stage === 'review' ? await review(life) : await settle(life);
}

function wasFound(life: PayoutLife): boolean {
  return life.record.creation.stage === 'created';
}

/** `stops`: how often reconciliation has found this payout's workflow stopped. */
function flagRepeatedStops(life: PayoutLife, stops: unknown): void {
  if (typeof stops !== 'number' || stops < STOPS_BEFORE_FLAG) return;
  const message = `its workflow has been stopped ${stops} times without an end, and was started again each time`;
  life.flag('STOPPED_REPEATEDLY', message);
}
