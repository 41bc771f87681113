/** The activities of the reconciliation. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { findFailingWorkflows } from '../../temporal/failing-workflows.ts';
import { withPacedLists } from '../../temporal/visibility.ts';
import { onlyHere } from '../shared/execution.ts';
import { payoutEnd } from './follow-ended.ts';
import { reconcileClosed } from './reconcile-closed.ts';
import type { ReconcileActivities } from './reconciliation-types.ts';

export function reconcileActivities(
  { env, applications, events: endpoints }: WorkerConfig,
  unpaced: Client,
  clock: Clock,
): ReconcileActivities {
  const environment = env.PAYMENTS_ENVIRONMENT;
  const here = onlyHere(environment, clock);
  const client = withPacedLists(unpaced, clock);
  const parts = {
    ...{ client, clock, environment, endpoints, apps: new Set(applications.keys()) },
    reconcileEveryMs: env.PAYOUTS_RECONCILE_EVERY,
  };
  return {
    reconcileClosed: (look) => here(look, () => reconcileClosed(parts, look)),
    payoutEnd: (which) => here(which, () => payoutEnd(parts, which)),
    findFailing: (look) => here(look, () => findFailingWorkflows(client, look.known, look.beforeMs)),
  };
}
