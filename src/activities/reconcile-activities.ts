/** The reconciliation's activities of one worker process. */
import { ApplicationFailure } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../config/config.ts';
import { findFailing } from '../starters/failing-workflows.ts';
import { adoptStopped } from './adopt-stopped.ts';
import { followEnded } from './follow-ended.ts';
import { withHeartbeats } from './heartbeats.ts';
import type { ReconcileActivities } from './reconcile-types.ts';

const DAY_MS = 86_400_000;

export function reconcileActivities(
  { env, applications }: WorkerConfig,
  client: Client,
): ReconcileActivities {
  const environment = env.PAYMENTS_ENVIRONMENT;
  const common = { client, environment, apps: new Set(applications.keys()) };
  const adopter = { ...common, reconcileEveryMs: env.PAYOUTS_RECONCILE_EVERY };
  const follower = { ...common, firstLooksBackMs: (env.PAYOUTS_FOLLOW_UP.at(-1) ?? 0) + DAY_MS };
  return {
    adoptStopped: (look) => onlyHere(environment, look, () => adoptStopped(adopter, look)),
    followEnded: (look) => onlyHere(environment, look, () => followEnded(follower, look)),
    findFailing: (look) => onlyHere(environment, look, () => findFailing(client, look.known, look.beforeMs)),
  };
}

/** All environments of a namespace share the queue of workflows; the next attempt may find the right worker. */
export async function onlyHere<T>(
  environment: string,
  meant: { environment: string },
  work: () => Promise<T>,
): Promise<T> {
  if (meant.environment === environment) return withHeartbeats(work);
  const message = `this worker serves ${environment}, it was asked for ${meant.environment}`;
  throw ApplicationFailure.create({ type: 'WRONG_WORKER', message });
}
