/**
 * Which run speaks for a workflow id whose latest run was stopped. Anybody may start another run under the id, and one
 * that fails as bad input says nothing about what the runs before it have sent.
 */
import type { Client } from '@temporalio/client';
import { type Clock, sleep } from '../surroundings/surroundings.ts';
import { isGone } from './client-errors.ts';
import { type ListedRun, listRunPages } from './visibility.ts';

export interface DecisiveRun {
  runId: string;
  /** It has set out to send what must not be sent twice, or nobody can say whether it has. */
  sent: boolean;
  /** Its history has been deleted, and with it what it was started with. */
  isGone: boolean;
  /** It has ended, and said that no order was created: its story is over. */
  saidNotCreated: boolean;
}

/** Thrown where visibility does not show a run that is known: earlier ones may be missing too. */
export class VisibilityLagsError extends Error {
  override readonly name = 'VisibilityLagsError';
}

/** The activities that send. */
const SENDS: readonly string[] = ['createPayout', 'openReceivingAccount'];
const PAGE = 100;
const VISIBILITY_TRIES = 20;
const VISIBILITY_PAUSE_MS = 250;

/**
 * From the latest run back: the first that has sent something or ended with an outcome, else the latest that got past
 * the check of its request. Undefined when no run did: each of them was bad input.
 */
export async function decisiveRun(
  client: Client,
  workflowId: string,
  latest: { runId: string; isBadInput: boolean },
  clock: Clock,
): Promise<DecisiveRun | undefined> {
  let begun: DecisiveRun | undefined;
  for (const run of await allRuns(client, workflowId, latest.runId, clock)) {
    const { runId } = run;
    const counting = { runId, sent: false, isGone: false, saidNotCreated: false };
    if (run.isCompleted) {
      const saidNotCreated = run.attribute('PayoutOutcome') === 'NOT_CREATED';
      return saidNotCreated ? (begun ?? { ...counting, saidNotCreated }) : { ...counting, sent: true };
    }
    const did = await whatItDid(client, workflowId, runId);
    if (did === 'gone' || did === 'sent') return { ...counting, sent: true, isGone: did === 'gone' };
    const passed = did === 'begun' || (runId === latest.runId && !latest.isBadInput);
    if (passed) begun ??= counting;
  }
  return begun;
}

/** The latest first. A list that shows `known` most likely shows what came before it; it does not promise that. */
async function allRuns(
  client: Client,
  workflowId: string,
  known: string,
  clock: Clock,
): Promise<ListedRun[]> {
  for (let left = VISIBILITY_TRIES; left > 0; left -= 1) {
    const runs: ListedRun[] = [];
    for await (const page of listRunPages(client, `WorkflowId = '${workflowId}'`, PAGE)) runs.push(...page);
    if (runs.some(({ runId }) => runId === known)) return runs.sort((a, b) => b.startedMs - a.startedMs);
    await sleep(clock, VISIBILITY_PAUSE_MS);
  }
  throw new VisibilityLagsError('visibility does not show the latest run yet');
}

/** `begun`: its request passed the check, for something was asked or waited for. `gone`: nobody can say. */
async function whatItDid(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<'nothing' | 'begun' | 'sent' | 'gone'> {
  let begun = false;
  try {
    for await (const event of eventsOf(client, workflowId, runId)) {
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (SENDS.includes(scheduled?.activityType?.name ?? '')) return 'sent';
      begun ||= Boolean(scheduled ?? event.timerStartedEventAttributes);
    }
    return begun ? 'begun' : 'nothing';
  } catch (error) {
    if (isGone(error)) return 'gone';
    throw error;
  }
}

/** A page at a time, for a send stands near the beginning. */
async function* eventsOf(client: Client, workflowId: string, runId: string) {
  let next: Uint8Array | undefined;
  do {
    const { history, nextPageToken } = await client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId, runId },
      ...(next && { nextPageToken: next }),
    });
    yield* history?.events ?? [];
    next = nextPageToken?.length ? nextPageToken : undefined;
  } while (next);
}
