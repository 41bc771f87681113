/** Activities that read all of Temporal for a schedule or a report: no rate limit, no priorities. */
import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities } from '../../activities/aftercare/reconcile-types.ts';
import type { ReportActivities } from '../../activities/aftercare/report-types.ts';
import { WHILE_THE_ENGINE_IS_AWAY } from '../shared/retry-policies.ts';

export const engineCalls = proxyActivities<ReconcileActivities & ReportActivities>({
  startToCloseTimeout: '10m',
  // A worker that was killed is noticed this soon.
  heartbeatTimeout: '8s',
  retry: WHILE_THE_ENGINE_IS_AWAY,
});
