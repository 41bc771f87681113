/** What any process reads about an application's lease: its settings, which need no worker. */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import { leaseWorkflowId } from '../../contract/ids.ts';
import { type LeaseSettings, type SharedSettings, settingsIn } from '../../contract/rate-limit.ts';
import { holdOf, inForce } from '../../domain/rate-limit.ts';
import { HOUR_MS } from '../../domain/time.ts';
import type { Clock, Runtime } from '../../runtime/runtime.ts';
import { unlessGone } from '../../temporal/client-errors.ts';
import { failoverVersionOf } from '../../temporal/namespace.ts';
import { onlyHere, type Principal } from './execution.ts';
import { retryIn } from './failures.ts';

/** Payouts that ask at about the same time share one look. */
const FRESH_MS = 1_000;

export class LeaseLooks {
  private readonly client: Client;
  private readonly environment: string;
  private readonly clock: Clock;
  private readonly looks = new Map<string, { atMs: number; settings: Promise<LeaseSettings> }>();

  constructor(client: Client, environment: string, clock: Clock) {
    this.client = client;
    this.environment = environment;
    this.clock = clock;
  }

  /** Up to a second old. */
  recent(appId: string): Promise<LeaseSettings> {
    const atMs = this.clock.nowMs();
    const last = this.looks.get(appId);
    if (last && atMs - last.atMs < FRESH_MS) return last.settings;
    const settings = this.now(appId);
    this.looks.set(appId, { atMs, settings });
    return settings;
  }

  /** Throws a retryable failure while they are missing, and after a failover. */
  async current(appId: string): Promise<SharedSettings> {
    const { shared } = await this.now(appId);
    if (!shared) throw settingsMissing();
    return shared;
  }

  private async now(appId: string): Promise<LeaseSettings> {
    const handle = this.client.workflow.getHandle(leaseWorkflowId(this.environment, appId));
    const [failoverVersion, lease] = await Promise.all([
      failoverVersionOf(this.client),
      unlessGone(() => handle.describe()),
    ]);
    return inForce(settingsIn(lease?.memo), failoverVersion);
  }
}

export function settingsMissing(): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'SETTINGS_MISSING',
    message:
      'the shared settings of the application are missing, or from before a failover: payouts settings',
  });
}

const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;
const GROWTH = 1.5;

export function pauseActivities(
  { env, applications }: WorkerConfig,
  looks: LeaseLooks,
  { clock, random }: Runtime,
) {
  const here = onlyHere(env.PAYMENTS_ENVIRONMENT, clock);
  const isHeld = async (appId: string) => holdOf(await looks.recent(appId)) !== undefined;
  return {
    /**
     * Retried while the application is paused, for an hour at most: whether the pause has ended. The wait is a retry, which
     * writes no history and occupies no slot, and asks Temporal only: it uses neither the rate limit nor the queue of the
     * provider calls.
     */
    awaitResume: (principal: Principal) =>
      here(principal, async () => {
        const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
        const application = applications.get(principal.app);
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
