/** The account may or may not have been opened. The list of accounts is looked at, then a person decides. */
import { ActivityFailure, condition, log, sleep, workflowInfo } from '@temporalio/workflow';
import type { WhetherOpened } from '../../activities/shared/types.ts';
import { activityTimeoutMs } from '../../domain/deadlines.ts';
import type { Clearance } from '../../domain/payout-record.ts';
import type { ReceivingAccountResult } from '../../domain/receiving-account.ts';
import { candidateAccounts } from '../../domain/receiving-account-state.ts';
import { untilAnswered } from '../shared/calls.ts';
import type { OpeningRun } from './opening-run.ts';
import { type Doubted, refused } from './send.ts';

type Found = { result: ReceivingAccountResult } | { cleared: Clearance };

const LONGEST_WAIT_MS = 60_000;
/** A provider that turns the request away this often is a matter for a person. */
const MOST_TURNED_AWAY = 3;

/** Looks over the confirmation window, which begins where the send's own deadline ends. */
export async function findOut(run: OpeningRun, doubted: Doubted): Promise<Found> {
  const { record, settings } = run;
  if (doubted.doubt === 'unsent') return review(run, doubted.why);
  record.settlesAtMs = Date.now() + activityTimeoutMs(settings.callTimeoutMs) + settings.confirmationWindowMs;
  run.enter('RECONCILING');
  for (let wait = 1_000; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    const askedAtMs = Date.now();
    const found = await whatFollows(run, doubted, await look(run), askedAtMs);
    if (found) return found;
    const left = record.settlesAtMs - Date.now();
    await sleep(Math.max(1, Math.min(wait, left)), { summary: 'looks again for the account' });
  }
}

/** Undefined: it is looked again. */
async function whatFollows(
  run: OpeningRun,
  doubted: Doubted,
  seen: WhetherOpened,
  askedAtMs: number,
): Promise<Found | undefined> {
  const { record } = run;
  const { settlesAtMs } = record;
  if (doubted.doubt === 'earlier-run') {
    // Nobody else has ever set out to open it: nothing can turn up, but for what a restore has lost just now.
    if (!seen.earlierSend)
      return seen.mayStillAppear && askedAtMs < settlesAtMs ? undefined : { cleared: clearanceOf(seen) };
    record.unsettled = Math.max(1, record.unsettled);
    // What was there before this run may well be what the earlier one opened.
    record.before = undefined;
  }
  if (Date.now() >= settlesAtMs || somethingNew(run)) return concluded(run, doubted, seen);
  return undefined;
}

function somethingNew({ record }: OpeningRun): boolean {
  return record.before !== undefined && candidateAccounts(record).length > 0;
}

/** An account that is not there by then was not opened only where the provider itself says so, of the only send. */
async function concluded(run: OpeningRun, { doubt, why }: Doubted, seen: WhetherOpened): Promise<Found> {
  const { record } = run;
  if (doubt === 'busy') record.turnedAway += 1;
  const nothingNew = seen.listed !== null && candidateAccounts(record).length === 0;
  if (nothingNew && doubt === 'refused') return refused(run, why);
  if (nothingNew && doubt === 'busy' && record.turnedAway < MOST_TURNED_AWAY)
    return { cleared: clearanceOf(seen) };
  return review(run, why);
}

/** A person decides. An account that turned up is only shown: it could be somebody else's request. */
async function review(run: OpeningRun, why: string): Promise<Found> {
  run.flag('NEEDS_REVIEW', `find out whether the account was opened, then resolve: ${why}`);
  run.enter('NEEDS_REVIEW');
  log.warn('a receiving account may or may not have been opened; it waits for the update resolve');
  for (;;) {
    await condition(() => run.resolution !== undefined);
    const found = await actedOn(run);
    if (!found) continue;
    run.unflag('NEEDS_REVIEW');
    return found;
  }
}

async function actedOn(run: OpeningRun): Promise<Found | undefined> {
  const { resolution } = run;
  if (!resolution) return undefined;
  const { said, account } = resolution;
  if (said.created) return { result: run.opened(account ?? {}, 'person', said.accountId) };
  if (said.then === 'end') {
    const message = `${said.by} found that it was not opened`;
    return { result: run.notOpened({ code: 'RESOLVED_NOT_OPENED', message }) };
  }
  return askedOnceMore(run);
}

/** What the person could not see yet makes the decision void. */
async function askedOnceMore(run: OpeningRun): Promise<Found | undefined> {
  const shown = candidateAccounts(run.record);
  const seen = await look(run);
  run.resolution = undefined;
  if (candidateAccounts(run.record).every((accountId) => shown.includes(accountId))) {
    run.record.unsent = 0;
    run.unflag('NOT_SENT');
    return { cleared: clearanceOf(seen) };
  }
  run.flag('NEEDS_REVIEW', 'another account turned up since it was resolved: look again, then resolve');
  run.show();
  return undefined;
}

async function look(run: OpeningRun): Promise<WhetherOpened> {
  const calls = untilAnswered(run.calls, 'account', 'was the account opened?');
  const { workflowId } = workflowInfo();
  const { startedAtMs } = run.record;
  const seen = await run
    .call(() => calls.askWhetherOpened(run.caller, { ...run.which, workflowId, startedAtMs }))
    .catch(nobodyKnows);
  run.record.listed = seen.listed ?? run.record.listed;
  return seen;
}

function clearanceOf({ runId, recoveredAtMs }: WhetherOpened): Clearance {
  return { runId, recoveredAtMs };
}

/** An answer that clears nothing: no run has this id. */
function nobodyKnows(error: unknown): WhetherOpened {
  if (!(error instanceof ActivityFailure)) throw error;
  return { listed: null, earlierSend: true, mayStillAppear: true, runId: '' };
}
