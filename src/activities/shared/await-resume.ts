/**
 * Waits for the end of a pause. The wait is a retry, which writes no history and occupies no slot, and asks Temporal only:
 * it uses neither the rate limit nor the queue of the provider calls.
 */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import { leaseWorkflowId } from '../../contract/ids.ts';
import { settingsIn } from '../../contract/lease-settings.ts';
import { HOUR_MS } from '../../domain/time.ts';
import type { Surroundings } from '../../surroundings/surroundings.ts';
import { onlyHere } from './execution.ts';
import { retryIn } from './failures.ts';
import type { PauseActivities } from './types.ts';

const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;
const GROWTH = 1.5;
/** Waiting payouts share one look. */
const FRESH_MS = 1_000;

export function pauseActivities(
  { env, applications }: WorkerConfig,
  client: Client,
  { clock, random }: Surroundings,
): PauseActivities {
  const here = onlyHere(env.PAYMENTS_ENVIRONMENT, clock);
  const looks = new Map<string, { atMs: number; isPaused: Promise<boolean> }>();
  const isPaused = (appId: string): Promise<boolean> => {
    const atMs = clock.nowMs();
    const last = looks.get(appId);
    if (last && atMs - last.atMs < FRESH_MS) return last.isPaused;
    const look = isLeasePaused(client, leaseWorkflowId(env.PAYMENTS_ENVIRONMENT, appId));
    looks.set(appId, { atMs, isPaused: look });
    return look;
  };
  return {
    awaitResume: (caller) =>
      here(caller, async () => {
        const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
        const application = applications.get(caller.app);
        // The owner learns of the end of a pause a moment later, so the first attempt only waits.
        if (attempt > 1 && application && !(await isPaused(application.appId))) return true;
        if (currentAttemptScheduledTimestampMs - scheduledTimestampMs > HOUR_MS) return false;
        const longest = Math.min(MAX_WAIT_MS, MIN_WAIT_MS * GROWTH ** Math.min(30, attempt));
        // Random, so that waiting payouts do not continue together.
        const waitMs = longest * (0.5 + random.number() / 2);
        const message = 'the application is paused';
        throw ApplicationFailure.create({ type: 'PAUSED', message, ...retryIn(waitMs) });
      }),
  };
}

async function isLeasePaused(client: Client, workflowId: string): Promise<boolean> {
  try {
    const { memo } = await client.workflow.getHandle(workflowId).describe();
    return settingsIn(memo).paused !== undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
