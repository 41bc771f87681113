/** The messages that an opening takes. An account that a person names is checked with the provider first. */
import { condition, setHandler } from '@temporalio/workflow';
import type { ReceivingAccountState } from '../../contract/receiving-account.ts';
import {
  type ReceivingAccountResolution,
  receivingAccountStateQuery,
  resolveReceivingAccountUpdate,
} from '../../contract/workflows.ts';
import { accountMismatch, candidateAccounts } from '../../domain/receiving-account.ts';
import { asked } from '../shared/calls.ts';
import {
  deciderProblem,
  isSameSet,
  notAccepted,
  onUpdate,
  resolutionProblem,
  sendsProblem,
  shielded,
} from '../shared/messages.ts';
import type { OpeningRun } from './opening-run.ts';

export function installOpeningHandlers(run: OpeningRun): void {
  setHandler(receivingAccountStateQuery, () => run.state);
  onUpdate(run, resolveReceivingAccountUpdate, shielded(resolve), resolveProblem);
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

function resolveProblem(run: OpeningRun, decision: ReceivingAccountResolution): string | undefined {
  const problem = deciderProblem(decision);
  if (problem) return problem;
  const { phase } = run.record;
  if (phase !== 'NEEDS_REVIEW') return `there is nothing to resolve: the request is ${phase}`;
  if (run.resolution || run.isResolving) return 'the request is already being resolved';
  return (
    resolutionProblem(decision, 'accountId') ??
    sendsProblem(decision, run.record.sends) ??
    candidatesProblem(decision, candidateAccounts(run.record))
  );
}

function candidatesProblem(decision: ReceivingAccountResolution, current: string[]): string | undefined {
  if (decision.created || decision.candidates === undefined) return undefined;
  return isSameSet(decision.candidates, current)
    ? undefined
    : `candidates: the review shows ${current.join(', ') || 'none'}: read the state again`;
}

/** The provider's record of the account. Refuses the update if it is not the account that was requested. */
async function checkedAccount(run: OpeningRun, accountId: string): Promise<Record<string, unknown>> {
  const calls = asked(run.calls, 'beginning', 'checks the account that a person named');
  const read = <T>(work: () => Promise<T>): Promise<T> =>
    work().catch(() => {
      throw notAccepted('the provider does not answer queries about this account now');
    });
  const record = await read(() => calls.fetchReceivingDetail(run.caller, accountId));
  if (!record) throw notAccepted('the provider knows no such account');
  const listed = await read(() => calls.listReceivingAccounts(run.caller, run.accountKey));
  const account = { accountId, record, listed: listed ?? undefined, before: run.record.before };
  const problem = accountMismatch(run.request, account);
  if (problem) throw notAccepted(`this is not the account that was requested: ${problem}`);
  return record;
}
