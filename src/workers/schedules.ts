/** The Temporal Schedules that every worker process sees to. */
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleOptions,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { WorkerConfig } from '../config/config.ts';
import { PAYOUTS_TASK_QUEUE, reconciliationId, reportId } from '../contract/ids.ts';
import type { Clock } from '../surroundings/surroundings.ts';

/** Temporal was away; once they stand, nobody needs to look again. */
const TRY_AGAIN_MS = 5_000;
/** A schedule that could not run meanwhile runs once, and sees everything. */
const CATCH_UP = '5m';

/** UTC; visibility shows the whole day by then. */
const REPORT_AT = { hour: 0, minute: 10 };

/** Sees to it in the background; answers how to stop trying. */
export function keepSchedules(client: Client, config: WorkerConfig, clock: Clock): () => void {
  let stopTimer: () => void = () => undefined;
  let stopped = false;
  let told = false;
  const tryNow = () => {
    ensureSchedules(client, config).catch((error: unknown) => {
      if (!told) console.error(`the schedules cannot be set up yet: ${reasonOf(error)}`);
      told = true;
      if (!stopped) stopTimer = clock.after(TRY_AGAIN_MS, tryNow);
    });
  };
  tryNow();
  return () => {
    stopped = true;
    stopTimer();
  };
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : 'no reason given';
}

/** Creates what is missing and brings the rest up to this process's settings; one that is paused stays paused. */
export async function ensureSchedules(client: Client, config: WorkerConfig): Promise<void> {
  for (const schedule of wanted(config)) await ensure(client, schedule);
}

function wanted({ env }: WorkerConfig): ScheduleOptions[] {
  const environment = env.PAYMENTS_ENVIRONMENT;
  const id = reconciliationId(environment);
  // A follow-up must have been started by the time of its first look.
  const every = Math.max(1_000, Math.min(env.PAYOUTS_RECONCILE_EVERY, ...env.PAYOUTS_FOLLOW_UP));
  return [
    {
      scheduleId: id,
      spec: { intervals: [{ every }] },
      action: {
        type: 'startWorkflow',
        workflowType: 'payoutReconciliation',
        workflowId: id,
        taskQueue: PAYOUTS_TASK_QUEUE,
        args: [{ environment }],
        staticSummary: 'starts again what was stopped, follows up what has ended',
      },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP },
    },
    {
      scheduleId: reportId(environment),
      spec: { calendars: [REPORT_AT] },
      action: {
        type: 'startWorkflow',
        workflowType: 'payoutReport',
        workflowId: reportId(environment),
        taskQueue: PAYOUTS_TASK_QUEUE,
        args: [{ environment }],
        staticSummary: 'the payouts of the day before',
      },
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP },
    },
  ];
}

async function ensure(client: Client, schedule: ScheduleOptions): Promise<void> {
  try {
    await client.schedule.create(schedule);
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const { spec, action, policies } = schedule;
    await client.schedule
      .getHandle(schedule.scheduleId)
      .update(({ state }) => ({ spec, action, ...(policies && { policies }), state }));
  }
}
