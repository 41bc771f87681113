/** Activities that read Temporal for the reconciliation and the report: no rate limit, no priorities. */
import { proxyActivities } from '@temporalio/workflow';
import type { ReconcileActivities } from '../../activities/aftercare/reconcile-types.ts';
import type { ReportActivities } from '../../activities/aftercare/report-types.ts';
import { UNTIL_TEMPORAL_ANSWERS } from '../shared/retry-policies.ts';

export const temporalCalls = proxyActivities<ReconcileActivities & ReportActivities>({
  startToCloseTimeout: '10m',
  // Detects a killed worker.
  heartbeatTimeout: '8s',
  retry: UNTIL_TEMPORAL_ANSWERS,
});
