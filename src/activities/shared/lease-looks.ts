/** What any process reads about an application's lease: its settings, which need no worker. */
import { ApplicationFailure } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { leaseWorkflowId } from '../../contract/ids.ts';
import { type LeaseSettings, type SharedSettings, settingsIn } from '../../contract/rate-limit.ts';
import { inForce } from '../../domain/rate-limit.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { unlessGone } from '../../temporal/client-errors.ts';
import { failoverVersionOf } from '../../temporal/namespace.ts';

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
