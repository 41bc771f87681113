/**
 * Finds the run that determines what a workflow id has sent, if its latest run was stopped. Anyone can start another run
 * under the id, and a run that fails as bad input proves nothing about earlier runs.
 */
import { type Client, ServiceError } from '@temporalio/client';
import { type Clock, sleep } from '../runtime/runtime.ts';
import { readStartEvent, wholeHistory } from './histories.ts';
import { type ListedRun, listRunsOf } from './visibility.ts';

export interface Search {
  workflowId: string;
  latest: { runId: string; isBadInput: boolean };
  /** Whether a worker accepts this argument of a run. Tells it of runs that were stopped before their check. */
  isValid(argument: unknown): boolean;
  /** A run with such an argument is known to exist. Until visibility lists one, `decisiveRun` throws. */
  wasStarted?: true;
  /** To wait for visibility. */
  clock: Clock;
}

export interface DecisiveRun {
  runId: string;
  /** The run has scheduled a send that must not be repeated, or this is unknown. */
  sent: boolean;
  /** The history was deleted, and with it the argument of the run. */
  isGone: boolean;
  saidNotCreated: boolean;
}

/** Thrown if visibility does not list a run that is known to exist. Earlier runs may be missing too. A later call may succeed. */
export class VisibilityLagsError extends ServiceError {
  override readonly name = 'VisibilityLagsError';
}

const SENDING_ACTIVITIES: readonly string[] = ['createPayout', 'openReceivingAccount'];
/** The first activities of a run. They fail on bad input. */
const CHECKING_ACTIVITIES: readonly string[] = ['beginPayout', 'preparePayout', 'prepareReceivingAccount'];
const VISIBILITY_TRIES = 20;
const VISIBILITY_PAUSE_MS = 250;

/**
 * Searches from the latest run back for the first run that sent something or completed with an outcome; otherwise
 * returns the latest run whose request was valid. Undefined if every run was bad input.
 */
export async function decisiveRun(client: Client, search: Search): Promise<DecisiveRun | undefined> {
  let begun: DecisiveRun | undefined;
  const runs = await allRuns(client, search);
  for (const run of runs) {
    const { runId } = run;
    const candidate = { runId, sent: false, isGone: false, saidNotCreated: false };
    if (run.isCompleted) {
      const saidNotCreated = run.attribute('PayoutOutcome') === 'NOT_CREATED';
      return saidNotCreated ? (begun ?? { ...candidate, saidNotCreated }) : { ...candidate, sent: true };
    }
    const progress = await progressOf(client, search.workflowId, runId);
    if (progress === 'gone' || progress === 'sent')
      return { ...candidate, sent: true, isGone: progress === 'gone' };
    if (progress === 'begun' || (await wasAccepted(client, search, run))) begun ??= candidate;
  }
  if (!begun && search.wasStarted && !(await listsValidStart(client, search, runs)))
    throw new VisibilityLagsError('visibility does not list the valid start yet');
  return begun;
}

/**
 * A worker may have rejected the valid start, in another environment for example. Only of failed runs: the search has
 * read the arguments of all others.
 */
async function listsValidStart(
  client: Client,
  { workflowId, isValid }: Search,
  runs: readonly ListedRun[],
): Promise<boolean> {
  for (const { runId, status } of runs)
    if (status === 'FAILED' && isValid((await readStartEvent(client, workflowId, runId)).argument))
      return true;
  return false;
}

/** The newest run first. A list with the latest run very likely has all earlier runs, but without guarantee. */
async function allRuns(client: Client, { workflowId, latest, clock }: Search): Promise<ListedRun[]> {
  for (let left = VISIBILITY_TRIES; left > 0; left -= 1) {
    const runs = await listRunsOf(client, workflowId);
    if (runs.some(({ runId }) => runId === latest.runId))
      // A reset may give a run the start time of its base.
      return runs.sort((a, b) => b.startedMs - a.startedMs || (a.runId === latest.runId ? -1 : 1));
    await sleep(clock, VISIBILITY_PAUSE_MS);
  }
  throw new VisibilityLagsError('visibility does not list the latest run yet');
}

/** Of a run without progress: a failed run was bad input, and any other run was stopped before its check ended. */
async function wasAccepted(
  client: Client,
  { workflowId, latest, isValid }: Search,
  { runId, status }: ListedRun,
): Promise<boolean> {
  if (status === 'FAILED') return runId === latest.runId && !latest.isBadInput;
  return isValid((await readStartEvent(client, workflowId, runId)).argument);
}

/** `begun`: the request was valid, because its check completed or anything followed it. `gone`: no history is left. */
async function progressOf(
  client: Client,
  workflowId: string,
  runId: string,
): Promise<'nothing' | 'begun' | 'sent' | 'gone'> {
  const events = await wholeHistory(client, { workflowId, runId });
  if (!events) return 'gone';
  const scheduled = events.flatMap(
    ({ activityTaskScheduledEventAttributes: activity }) => activity?.activityType?.name ?? [],
  );
  if (scheduled.some((type) => SENDING_ACTIVITIES.includes(type))) return 'sent';
  const hasBegun =
    scheduled.some((type) => !CHECKING_ACTIVITIES.includes(type)) ||
    events.some((event) => event.activityTaskCompletedEventAttributes ?? event.timerStartedEventAttributes);
  return hasBegun ? 'begun' : 'nothing';
}
