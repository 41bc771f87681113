/**
 * Opens a receiving account: lists the accounts that exist, requests one, and if the outcome is unknown confirms it
 * before anything is sent again.
 *
 * The workflow *completes* with the account or the reason why there is none. It *fails* only on bad input.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  setHandler,
} from '@temporalio/workflow';
import type {
  ReceivingAccountRequest,
  ReceivingAccountResult,
  ReceivingAccountState,
} from '../../contract/receiving-account.ts';
import {
  type ReceivingAccountResolution,
  receivingAccountStateQuery,
  resolveReceivingAccountUpdate,
} from '../../contract/workflows.ts';
import { accountMismatch, candidateAccounts } from '../../domain/receiving-account.ts';
import { asked, checks, orBadInput } from '../shared/calls.ts';
import { notAccepted, onUpdate, shielded } from '../shared/messages.ts';
import { startFacts } from '../shared/run-facts.ts';
import { findEarlierSend, isSameSet, notShown, resolveProblem, runFacts } from '../shared/uncertain-send.ts';
import { OpeningRun } from './opening-run.ts';
import { confirmEarlierSend, listBefore, send } from './send.ts';

export async function openReceivingAccount(
  request: ReceivingAccountRequest,
): Promise<ReceivingAccountResult> {
  const run = new OpeningRun();
  setHandler(receivingAccountStateQuery, () => run.state);
  onUpdate(run, resolveReceivingAccountUpdate, shielded(resolve), decisionProblem);
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
    return CancellationScope.nonCancellable(async () => {
      const cause = await findEarlierSend(run.principal, runFacts(run.record.startedAtMs));
      const result = cause ? await confirmEarlierSend(run, cause) : undefined;
      return result ?? run.notOpened('CANCELLED', 'canceled before the account was requested');
    });
  }
}

async function open(run: OpeningRun): Promise<ReceivingAccountResult> {
  for (;;) {
    if (run.record.unknownSends === 0) await listBefore(run);
    const end = await CancellationScope.nonCancellable(() => send(run));
    if (end === 'paused') await untilResumed(run);
    else if (end) return end;
  }
}

/** A cancellation ends the wait unless a send may have taken effect. */
async function untilResumed(run: OpeningRun): Promise<void> {
  run.enter('PAUSED');
  const wait = async () => {
    while (!(await checks.awaitResume(run.principal)));
  };
  await (run.record.unknownSends === 0 ? wait() : CancellationScope.nonCancellable(wait));
}

async function resolve(
  run: OpeningRun,
  decision: ReceivingAccountResolution,
): Promise<ReceivingAccountState> {
  run.isResolving = true;
  try {
    run.resolution = decision.created
      ? { decision, account: await checkedAccount(run, decision.accountId) }
      : { decision };
  } finally {
    run.isResolving = false;
  }
  const { resolution } = run;
  // The state shows the effect of the decision.
  await condition(() => resolution.voidedBy !== undefined || run.record.phase !== 'NEEDS_REVIEW');
  if (resolution.voidedBy !== undefined) throw notAccepted(resolution.voidedBy);
  return run.state;
}

function decisionProblem(run: OpeningRun, decision: ReceivingAccountResolution): string | undefined {
  const problem = resolveProblem(run, 'request', 'accountId', decision);
  if (problem || decision.created || decision.candidates === undefined) return problem;
  const shown = candidateAccounts(run.record);
  return isSameSet(decision.candidates, shown) ? undefined : notShown('candidates', shown);
}

/** The provider's record of the account. Refuses the update if it is not the account that was requested. */
async function checkedAccount(run: OpeningRun, accountId: string): Promise<Record<string, unknown>> {
  const calls = asked(run.calls, 'beginning', 'checks the account that a person named');
  const read = <T>(work: () => Promise<T>): Promise<T> =>
    work().catch(() => {
      throw notAccepted('the provider does not respond to queries about this account now');
    });
  const record = await read(() => calls.fetchReceivingDetail(run.principal, accountId));
  if (!record) throw notAccepted('the provider knows no such account');
  const listed = await read(() => calls.listReceivingAccounts(run.principal, run.accountKey));
  const account = { accountId, record, listed: listed ?? undefined, before: run.record.before };
  const problem = accountMismatch(run.request, account);
  if (problem) throw notAccepted(`this is not the account that was requested: ${problem}`);
  return record;
}
