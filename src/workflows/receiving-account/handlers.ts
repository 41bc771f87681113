/** What an opening can be asked and told. A person's word is checked with the service before it is taken. */
import { CancellationScope, condition, setHandler } from '@temporalio/workflow';
import {
  type OpeningResolution,
  openingStateQuery,
  resolveOpeningUpdate,
} from '../../contract/receiving-account-messages.ts';
import { accountMismatch, type ReceivingAccountState } from '../../domain/receiving-account.ts';
import { asked } from '../shared/calls.ts';
import { demand, named, notAccepted } from '../shared/refusals.ts';
import type { OpeningRun } from './opening-run.ts';

export function takeMessages(run: OpeningRun): void {
  let checking = false;
  setHandler(openingStateQuery, () => run.state);
  const resolve = async (said: OpeningResolution): Promise<ReceivingAccountState> => {
    checking = true;
    try {
      run.resolution = said.created ? { said, account: await checkedAccount(run, said.accountId) } : { said };
    } finally {
      checking = false;
    }
    // Until it has been acted on, so that the answer says what came of it.
    await condition(() => run.resolution === undefined || run.record.phase !== 'NEEDS_REVIEW');
    return run.state;
  };
  // Handlers run in the root scope, which a cancellation that came too late has ended: nobody could resolve it any more.
  setHandler(resolveOpeningUpdate, (said) => CancellationScope.nonCancellable(() => resolve(said)), {
    validator: (said) => demand(named(said) ?? resolvable(run, said, checking)),
  });
}

function resolvable(run: OpeningRun, said: OpeningResolution, checking: boolean): string | undefined {
  const { phase } = run.record;
  if (phase !== 'NEEDS_REVIEW') return `there is nothing to resolve: the request is ${phase}`;
  if (run.resolution || checking) return 'it is being resolved already';
  if (said.created === true)
    return typeof said.accountId === 'string' && said.accountId !== '' ? undefined : 'accountId: is missing';
  if (said.created !== false) return 'created: must be true or false';
  return said.then === 'end' || said.then === 'retry' ? undefined : 'then: must be end or retry';
}

/** The service's own record of it; refuses the update when that is not what was asked for. */
async function checkedAccount(run: OpeningRun, accountId: string): Promise<Record<string, unknown>> {
  const calls = asked(run.calls, 'is this the account?');
  const read = <T>(work: () => Promise<T>): Promise<T> =>
    work().catch(() => {
      throw notAccepted('the payments service could not be asked about this account now');
    });
  const record = await read(() => calls.fetchReceivingDetail(run.caller, accountId));
  if (!record) throw notAccepted('the payments service knows no such account');
  const listed = await read(() => calls.listReceivingAccounts(run.caller, run.which));
  const named = { accountId, record, listed: listed ?? undefined, before: run.record.before };
  const problem = accountMismatch(run.request, named);
  if (problem) throw notAccepted(`this is not the account that was asked for: ${problem}`);
  return record;
}
