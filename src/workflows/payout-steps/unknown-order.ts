/** The order may or may not exist. It is asked for, by this workflow and by a person; nothing is sent meanwhile. */
import { workflowInfo } from '@temporalio/workflow';
import type { WhetherCreated } from '../../activities/types.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import { untilAnswered } from '../calls.ts';
import { NotCreated, type PayoutLife } from './payout-life.ts';
import { takeOverFound } from './take-over-order.ts';
import { asking, waitToAsk } from './wait-to-ask.ts';

const LONGEST_SETTLE_WAIT_MS = 30_000;

/** Asks over the confirmation window. Returns the clearance to send again, or nothing when a stage says more. */
export async function settle(life: PayoutLife): Promise<Clearance | undefined> {
  const { record, settings } = life;
  const creation = record.creation;
  if (creation.stage !== 'settling') return undefined;
  life.enter('RECONCILING');
  await life.continueAsNewWhenLong();
  const answer = await ask(life);
  if (answer.exists) return takeOverFound(life, answer.trade, creation.doubt);
  const clearance = { runId: answer.runId };
  // No other run has ever set out to create this order, so there is nothing that could still turn up.
  if (creation.doubt === 'earlier-run' && !answer.earlierSend) return sendAgain(life, clearance);
  if (Date.now() < creation.untilMs) {
    const wait = Math.min(LONGEST_SETTLE_WAIT_MS, 1_000 * 2 ** creation.asks, creation.untilMs - Date.now());
    creation.asks += 1;
    await waitToAsk(life, wait, 'asks again whether the order exists');
    return undefined;
  }
  if (creation.doubt === 'busy' || settings.repeatedCreate === 'safe') return sendAgain(life, clearance);
  record.creation = { stage: 'review', doubt: creation.doubt };
  return undefined;
}

/** A person decides; until then the service is asked on, for the order may still turn up. */
export async function review(life: PayoutLife): Promise<Clearance | undefined> {
  const { record, settings } = life;
  if (record.creation.stage !== 'review') return undefined;
  life.enter('NEEDS_REVIEW');
  life.flag(
    'NEEDS_REVIEW',
    'the service knows no such order, but the create was sent and never answered: find out, then resolve',
  );
  await life.continueAsNewWhenLong();
  if (!life.resolution)
    await waitToAsk(
      life,
      settings.pollMaxMs,
      'asks again whether the order exists',
      () => life.resolution !== undefined,
    );
  const { resolution } = life;
  if (resolution?.created) return undefined; // The update itself has checked and taken over the order.
  const answer = await ask(life);
  // A decision that came during the question is left for the next round, which asks once more after it.
  if (resolution) life.resolution = undefined;
  if (answer.exists) return takeOverFound(life, answer.trade, record.creation.doubt);
  if (!resolution) return undefined;
  life.unflag('NEEDS_REVIEW');
  if (resolution.then === 'end')
    throw new NotCreated({
      code: 'RESOLVED_NOT_CREATED',
      message: `${resolution.by} found that it was not created`,
    });
  return sendAgain(life, { runId: answer.runId });
}

function sendAgain(life: PayoutLife, clearance: Clearance): Clearance {
  life.record.creation = { stage: 'quoting' };
  return clearance;
}

async function ask(life: PayoutLife): Promise<WhetherCreated> {
  const calls = untilAnswered(life.calls, 'create', 'does the order exist?');
  const { workflowId } = workflowInfo();
  return asking(life, () => calls.askWhetherCreated(life.caller, { key: life.tradeKey, workflowId }));
}
