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
import type { ReceivingAccountOrder, ReceivingAccountResult } from '../../domain/receiving-account.ts';
import { local } from '../shared/calls.ts';
import { findOut } from './find-out.ts';
import { takeMessages } from './handlers.ts';
import { OpeningLife } from './opening-life.ts';
import { lookBefore, send, sentBefore } from './send.ts';

export async function openReceivingAccount(request: ReceivingAccountOrder): Promise<ReceivingAccountResult> {
  const life = new OpeningLife();
  takeMessages(life);
  const { workflowId, memo } = workflowInfo();
  life.prepared = await CancellationScope.nonCancellable(() =>
    local.prepareReceivingAccount(request, { workflowId, environment: memo?.['environment'] }),
  );
  const result = await unlessCancelled(life);
  life.record.result = result;
  life.enter('DONE');
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  return result;
}

/** A cancellation is heeded only where it is sure that no send has taken effect, by whichever run. */
async function unlessCancelled(life: OpeningLife): Promise<ReceivingAccountResult> {
  try {
    return await open(life);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return CancellationScope.nonCancellable(() => cancelled(life));
  }
}

async function cancelled(life: OpeningLife): Promise<ReceivingAccountResult> {
  const doubt = await local.doubtAboutEnd(life.runFacts);
  const found = doubt ? await findOut(life, sentBefore(doubt)) : undefined;
  if (found && 'result' in found) return found.result;
  return life.notOpened({ code: 'CANCELLED', message: 'cancelled before it was asked for' });
}

async function open(life: OpeningLife): Promise<ReceivingAccountResult> {
  let cleared: Clearance | undefined;
  for (;;) {
    if (life.record.unsettled === 0) await lookBefore(life);
    const sent = await CancellationScope.nonCancellable(() => send(life, cleared));
    if ('result' in sent) return sent.result;
    if ('nothing' in sent) continue;
    const found = await CancellationScope.nonCancellable(() => findOut(life, sent));
    if ('result' in found) return found.result;
    cleared = found.cleared;
  }
}
