/** The daily report's activities of one worker process. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { onlyHere } from './reconcile-activities.ts';
import { reportChanged } from './report-changed.ts';
import { reportEnded } from './report-ended.ts';
import { reportOpen } from './report-open.ts';
import type { ReportActivities } from './report-types.ts';

export function reportActivities({ env }: WorkerConfig, client: Client, clock: Clock): ReportActivities {
  const environment = env.PAYMENTS_ENVIRONMENT;
  const here = onlyHere(environment, clock);
  return {
    reportEnded: (page) => here(page, () => reportEnded(client, page)),
    reportOpen: (page) => here(page, () => reportOpen(client, page, clock)),
    reportChanged: (page) => here(page, () => reportChanged(client, page)),
  };
}
