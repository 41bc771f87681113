/** How activities run: in a worker of the right environment and application, with heartbeats, for a principal. */
import { activityInfo, Context } from '@temporalio/activity';
import { type Clock, repeat } from '../../runtime/runtime.ts';
import type { WorkflowRun } from '../../temporal/histories.ts';
import { failure } from './failures.ts';

const HEARTBEAT_EVERY_MS = 2_000;

/** On whose behalf a call is made. A worker of another environment or application refuses it. */
export interface Principal {
  environment: string;
  app: string;
  openId?: string | undefined;
}

export type UserOptions = Pick<Principal, 'openId'>;

/** The id of a workflow, and the environment in its memo. */
export interface StartFacts {
  workflowId: string;
  environment?: unknown;
  /** The caller, if its name was recorded. */
  startedBy?: string | undefined;
}

type Place = Pick<Principal, 'environment'> & Partial<Principal>;

/** The run that scheduled the activity. */
export function ownRun(): WorkflowRun {
  const { workflowExecution } = activityInfo();
  if (!workflowExecution) throw new Error('not an activity of a workflow');
  return workflowExecution;
}

/** Heartbeats while `work` runs, so that Temporal notices a killed worker long before the activity times out. */
export async function withHeartbeats<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  if (activityInfo().heartbeatTimeoutMs === undefined) return work();
  const context = Context.current();
  const stop = repeat(clock, HEARTBEAT_EVERY_MS, () => context.heartbeat());
  try {
    return await work();
  } finally {
    stop();
  }
}

/** Throws `WRONG_WORKER` for a task of another environment or application. Another attempt may reach the right worker. */
export function requireHere(here: Place, meant: Place): void {
  if (meant.environment === here.environment && meant.app === here.app) return;
  throw failure('WRONG_WORKER', `this worker serves ${nameOf(here)}; the task is for ${nameOf(meant)}`);
}

function nameOf({ environment, app }: Place): string {
  return app === undefined ? environment : `${app} of ${environment}`;
}

/** For the queue of workflows, which all environments of a namespace share. */
export function onlyHere(environment: string, clock: Clock) {
  return async <T>(meant: { environment: string }, work: () => Promise<T>): Promise<T> => {
    requireHere({ environment }, { environment: meant.environment });
    return withHeartbeats(clock, work);
  };
}
