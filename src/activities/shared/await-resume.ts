/**
 * Waits for the end of a pause. The wait is a retry, which writes no history and occupies no slot, and asks Temporal only:
 * it uses neither the rate limit nor the queue of the provider calls.
 */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { WorkerConfig } from '../../config/config.ts';
import { holdOf } from '../../domain/rate-limit.ts';
import { HOUR_MS } from '../../domain/time.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { onlyHere } from './execution.ts';
import { retryIn } from './failures.ts';
import type { LeaseLooks } from './lease-looks.ts';
import type { PauseActivities } from './types.ts';

const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;
const GROWTH = 1.5;

export function pauseActivities(
  { env, applications }: WorkerConfig,
  looks: LeaseLooks,
  { clock, random }: Runtime,
): PauseActivities {
  const here = onlyHere(env.PAYMENTS_ENVIRONMENT, clock);
  const isHeld = async (appId: string) => holdOf(await looks.recent(appId)) !== undefined;
  return {
    awaitResume: (caller) =>
      here(caller, async () => {
        const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
        const application = applications.get(caller.app);
        // The owner learns of the end of a pause a moment later, so the first attempt only waits.
        if (attempt > 1 && application && !(await isHeld(application.appId))) return true;
        if (currentAttemptScheduledTimestampMs - scheduledTimestampMs > HOUR_MS) return false;
        const longest = Math.min(MAX_WAIT_MS, MIN_WAIT_MS * GROWTH ** Math.min(30, attempt));
        // Random, so that waiting payouts do not continue together.
        const waitMs = longest * (0.5 + random.number() / 2);
        const message = 'the application is paused';
        throw ApplicationFailure.create({ type: 'PAUSED', message, ...retryIn(waitMs) });
      }),
  };
}
