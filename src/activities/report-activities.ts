/** The daily report's activities of one worker process. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../config/config.ts';
import { onlyHere } from './reconcile-activities.ts';
import { reportChanged } from './report-changed.ts';
import { reportEnded } from './report-ended.ts';
import { reportOpen } from './report-open.ts';
import type { ReportActivities } from './report-types.ts';

export function reportActivities({ env }: WorkerConfig, client: Client): ReportActivities {
  const environment = env.PAYMENTS_ENVIRONMENT;
  return {
    reportEnded: (page) => onlyHere(environment, page, () => reportEnded(client, page)),
    reportOpen: (page) => onlyHere(environment, page, () => reportOpen(client, page)),
    reportChanged: (page) => onlyHere(environment, page, () => reportChanged(client, page)),
  };
}
