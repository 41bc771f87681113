/** The activities of the reconciliation. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import { DAY_MS } from '../../domain/time.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { findFailingWorkflows } from '../../temporal/failing-workflows.ts';
import { onlyHere } from '../shared/execution.ts';
import type { ReconcileActivities } from './aftercare-types.ts';
import { payoutEnd, searchedSinceMs, startFollowUps } from './follow-ended.ts';
import { publishMissed } from './publish-missed.ts';
import { restartStopped } from './restart-stopped.ts';

export function reconcileActivities(
  { env, applications, events: endpoints }: WorkerConfig,
  client: Client,
  clock: Clock,
): ReconcileActivities {
  const environment = env.PAYMENTS_ENVIRONMENT;
  const here = onlyHere(environment, clock);
  const common = { client, environment, apps: new Set(applications.keys()) };
  const reconciler = { ...common, clock, reconcileEveryMs: env.PAYOUTS_RECONCILE_EVERY };
  const follower = { ...common, firstLookbackMs: (env.PAYOUTS_FOLLOW_UP.at(-1) ?? 0) + DAY_MS };
  return {
    restartStopped: (look) => here(look, () => restartStopped(reconciler, look)),
    startFollowUps: (look) =>
      here(look, async () => {
        const followed = await startFollowUps(follower, look);
        const sinceMs = searchedSinceMs(follower, look);
        const unpublished = await publishMissed({ client, environment, endpoints, clock }, sinceMs);
        return { ...followed, notReconciled: [...followed.notReconciled, ...unpublished] };
      }),
    payoutEnd: (which) => here(which, () => payoutEnd(follower, which)),
    findFailing: (look) => here(look, () => findFailingWorkflows(client, look.known, look.beforeMs)),
  };
}
