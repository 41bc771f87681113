/**
 * Opening a receiving account, from top to bottom: look which ones there are, ask for one, and where no answer
 * comes find out before anything is sent again.
 *
 * It ends *completed*, with the account or with why there is none; it *fails* only on bad input.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import type { Clearance } from '../../domain/payout-record.ts';
import type { OpeningRequest, ReceivingAccountResult } from '../../domain/receiving-account.ts';
import { local } from '../shared/calls.ts';
import { findOut } from './find-out.ts';
import { takeMessages } from './handlers.ts';
import { OpeningRun } from './opening-run.ts';
import { lookBefore, send, sentBefore } from './send.ts';

export async function openReceivingAccount(request: OpeningRequest): Promise<ReceivingAccountResult> {
  const run = new OpeningRun();
  takeMessages(run);
  const { workflowId, memo } = workflowInfo();
  run.prepared = await CancellationScope.nonCancellable(() =>
    local.prepareReceivingAccount(request, { workflowId, environment: memo?.['environment'] }),
  );
  const result = await unlessCancelled(run);
  run.record.result = result;
  run.enter('DONE');
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  return result;
}

/** A cancellation is heeded only where it is sure that no send has taken effect, by whichever run. */
async function unlessCancelled(run: OpeningRun): Promise<ReceivingAccountResult> {
  try {
    return await open(run);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return CancellationScope.nonCancellable(() => cancelled(run));
  }
}

async function cancelled(run: OpeningRun): Promise<ReceivingAccountResult> {
  const doubt = await local.doubtAboutEnd(run.runFacts);
  const found = doubt ? await findOut(run, sentBefore(doubt)) : undefined;
  if (found && 'result' in found) return found.result;
  return run.notOpened({ code: 'CANCELLED', message: 'cancelled before it was asked for' });
}

async function open(run: OpeningRun): Promise<ReceivingAccountResult> {
  let cleared: Clearance | undefined;
  for (;;) {
    if (run.record.unsettled === 0) await lookBefore(run);
    const sent = await CancellationScope.nonCancellable(() => send(run, cleared));
    if ('result' in sent) return sent.result;
    if ('nothing' in sent) continue;
    const found = await CancellationScope.nonCancellable(() => findOut(run, sent));
    if ('result' in found) return found.result;
    cleared = found.cleared;
  }
}
