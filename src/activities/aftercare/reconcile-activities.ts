/** The activities of the reconciliation. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import { DAY_MS } from '../../domain/time.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { findFailingWorkflows } from '../../temporal/failing-workflows.ts';
import { onlyHere } from '../shared/execution.ts';
import { adoptStopped } from './adopt-stopped.ts';
import type { ReconcileActivities } from './aftercare-types.ts';
import { followEnded, payoutEnd } from './follow-ended.ts';

export function reconcileActivities(
  { env, applications }: WorkerConfig,
  client: Client,
  clock: Clock,
): ReconcileActivities {
  const environment = env.PAYMENTS_ENVIRONMENT;
  const here = onlyHere(environment, clock);
  const common = { client, environment, apps: new Set(applications.keys()) };
  const adopter = { ...common, clock, reconcileEveryMs: env.PAYOUTS_RECONCILE_EVERY };
  const follower = { ...common, firstLooksBackMs: (env.PAYOUTS_FOLLOW_UP.at(-1) ?? 0) + DAY_MS };
  return {
    adoptStopped: (look) => here(look, () => adoptStopped(adopter, look)),
    followEnded: (look) => here(look, () => followEnded(follower, look)),
    payoutEnd: (which) => here(which, () => payoutEnd(follower, which)),
    findFailing: (look) => here(look, () => findFailingWorkflows(client, look.known, look.beforeMs)),
  };
}
