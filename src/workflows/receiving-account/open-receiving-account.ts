/**
 * Opens a receiving account: lists the accounts that exist, requests one, and if the outcome is unknown confirms it
 * before anything is sent again.
 *
 * The workflow *completes* with the account or the reason why there is none. It *fails* only on bad input.
 */
import { allHandlersFinished, CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { ReceivingAccountRequest, ReceivingAccountResult } from '../../contract/receiving-account.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import { checks, findEarlierSend, orBadInput } from '../shared/calls.ts';
import { runFacts, startFacts } from '../shared/run-facts.ts';
import { confirmOpening } from './confirm.ts';
import { installOpeningHandlers } from './handlers.ts';
import { OpeningRun } from './opening-run.ts';
import { earlierSend, listBefore, send } from './send.ts';

export async function openReceivingAccount(
  request: ReceivingAccountRequest,
): Promise<ReceivingAccountResult> {
  const run = new OpeningRun();
  installOpeningHandlers(run);
  run.prepared = await CancellationScope.nonCancellable(() =>
    orBadInput(checks.prepareReceivingAccount(request, startFacts())),
  );
  run.assertKnown();
  const result = await openUnlessCanceled(run);
  run.record.result = result;
  run.enter('DONE');
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  return result;
}

/** A cancellation ends the opening only if no send, by any run, may have taken effect. */
async function openUnlessCanceled(run: OpeningRun): Promise<ReceivingAccountResult> {
  try {
    return await open(run);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return CancellationScope.nonCancellable(() => endCanceled(run));
  }
}

async function endCanceled(run: OpeningRun): Promise<ReceivingAccountResult> {
  const cause = await findEarlierSend(run.caller, runFacts(run.record.startedAtMs));
  const confirmed = cause ? await confirmOpening(run, earlierSend(cause)) : undefined;
  if (confirmed && 'result' in confirmed) return confirmed.result;
  return run.notOpened({ code: 'CANCELLED', message: 'canceled before the account was requested' });
}

/** A cancellation ends the wait unless a send may have taken effect. */
async function untilResumed(run: OpeningRun): Promise<void> {
  run.enter('PAUSED');
  const wait = async () => {
    while (!(await checks.awaitResume(run.caller)));
  };
  await (run.record.unknownSends === 0 ? wait() : CancellationScope.nonCancellable(wait));
}

async function open(run: OpeningRun): Promise<ReceivingAccountResult> {
  let cleared: Clearance | undefined;
  for (;;) {
    if (run.record.unknownSends === 0) await listBefore(run);
    const sent = await CancellationScope.nonCancellable(() => send(run, cleared));
    if ('result' in sent) return sent.result;
    if ('nothingSent' in sent) continue;
    if ('isPaused' in sent) {
      await untilResumed(run);
      continue;
    }
    const confirmed = await CancellationScope.nonCancellable(() => confirmOpening(run, sent));
    if ('result' in confirmed) return confirmed.result;
    cleared = confirmed.cleared;
  }
}
