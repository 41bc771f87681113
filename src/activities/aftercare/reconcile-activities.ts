/** The activities of the reconciliation. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import { DAY_MS } from '../../domain/time.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { findFailingWorkflows } from '../../temporal/failing-workflows.ts';
import { onlyHere } from '../shared/execution.ts';
import { adoptStopped } from './adopt-stopped.ts';
import type { ReconcileActivities } from './aftercare-types.ts';
import { followEnded, payoutEnd, searchedSinceMs } from './follow-ended.ts';
import { publishMissed } from './publish-missed.ts';

export function reconcileActivities(
  { env, applications, events: endpoints }: WorkerConfig,
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
    followEnded: (look) =>
      here(look, async () => {
        const followed = await followEnded(follower, look);
        const sinceMs = searchedSinceMs(follower, look);
        const unpublished = await publishMissed({ client, environment, endpoints, clock }, sinceMs);
        return { ...followed, leftAlone: [...followed.leftAlone, ...unpublished] };
      }),
    payoutEnd: (which) => here(which, () => payoutEnd(follower, which)),
    findFailing: (look) => here(look, () => findFailingWorkflows(client, look.known, look.beforeMs)),
  };
}
