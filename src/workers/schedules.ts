/** Keeps the Temporal Schedules up to date. Every worker process does it. */
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { WorkerConfig } from '../config/config.ts';
import { PAYOUTS_TASK_QUEUE, reconciliationId, reportId } from '../contract/ids.ts';
import type { ProblemLog } from '../observability/log.ts';
import type { Clock } from '../runtime/runtime.ts';
import { inBackground } from './in-background.ts';

/** UTC. By then, visibility shows the whole day before. */
const REPORT_AT = { hour: 0, minute: 10 };

/** One run catches up on all that were missed. */
const RECONCILIATION = { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '5m' } as const;
/** Each day needs its own report, also after an outage of days. */
const REPORTS = { overlap: ScheduleOverlapPolicy.BUFFER_ALL, catchupWindow: '7d' } as const;

/** Runs `ensureSchedules` in the background until it succeeds. Returns a function that stops the retries. */
export function keepSchedules(
  client: Client,
  config: WorkerConfig,
  clock: Clock,
  log: ProblemLog,
): () => void {
  const failure = 'cannot create the Schedules yet';
  return inBackground(clock, { ensure: () => ensureSchedules(client, config), failure, log });
}

/** Creates missing Schedules and updates the others to this process's configuration. A paused Schedule stays paused. */
export async function ensureSchedules(client: Client, { env }: WorkerConfig): Promise<void> {
  const environment = env.PAYMENTS_ENVIRONMENT;
  // A follow-up must start before its first check is due.
  const every = Math.max(1_000, Math.min(env.PAYOUTS_RECONCILE_EVERY, ...env.PAYOUTS_FOLLOW_UP));
  const reconciliation = {
    id: reconciliationId(environment),
    type: 'payoutReconciliation',
    summary: 'restarts stopped payouts, follows up ended payouts',
  };
  const report = { id: reportId(environment), type: 'payoutReport', summary: 'payouts of the day before' };
  await ensureSchedule(client, environment, reconciliation, { intervals: [{ every }] }, RECONCILIATION);
  await ensureSchedule(client, environment, report, { calendars: [REPORT_AT] }, REPORTS);
}

async function ensureSchedule(
  client: Client,
  environment: string,
  { id, type, summary }: { id: string; type: string; summary: string },
  spec: ScheduleOptions['spec'],
  policies: NonNullable<ScheduleOptions['policies']>,
): Promise<void> {
  const action: ScheduleOptions['action'] = {
    type: 'startWorkflow',
    workflowType: type,
    workflowId: id,
    taskQueue: PAYOUTS_TASK_QUEUE,
    args: [{ environment }],
    staticSummary: summary,
  };
  try {
    await client.schedule.create({ scheduleId: id, spec, action, policies });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await client.schedule.getHandle(id).update(({ state }) => ({ spec, action, policies, state }));
  }
}
