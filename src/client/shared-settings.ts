/**
 * The settings that all processes of an application share: when Temporal last lost something, and which payouts require an
 * approval. Only an operator sets them. They are part of the rate-limit lease, so that the only process that may send knows
 * them.
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { leaseWorkflowId } from '../contract/ids.ts';
import type { ApprovalPolicy, LeaseKey, SharedSettings } from '../contract/rate-limit.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import { failoverVersionOf } from '../temporal/namespace.ts';
import { requireEnvironment } from './errors.ts';
import { latestSettings } from './lease-settings.ts';
import { appIdProblem, type Lease, Leases, startLease } from './leases.ts';

export interface SettingsChange {
  by: string;
  reason: string;
  /**
   * Absent: as before. `now`: when the change is recorded, by Temporal's clock. `unchanged`: the namespace has failed over
   * since, and lost nothing.
   */
  recoveredAt?: string | null | undefined;
  /** Absent: as before. */
  approvals?: ApprovalPolicy | undefined;
}

export interface ListedSettings {
  app: string;
  workflowId: string;
  /** Null: nobody has set them, so no create call is sent. */
  shared: SharedSettings | null;
  /** The namespace has failed over since they were set, so no create call is sent. */
  hasFailedOver: boolean;
  /** The version that the lease owner reports; null if it reports none, as during a handover. */
  inForce: number | null;
}

/** A first value must be complete, after a failover somebody must say when it was, and an `app_id` stays. */
export class SettingsChangeError extends Error {
  override readonly name = 'SettingsChangeError';
}

/** Workers start a stopped lease again, within seconds. */
const MAX_ATTEMPTS = 20;

/** The reason for which a change of the settings terminates the lease, between its author and theirs. */
export const SETTINGS_CHANGED = 'changes the shared settings';

export class SharedSettingsOf {
  private readonly client: Client;
  private readonly environment: string | undefined;
  private readonly leases: Leases;

  constructor(client: Client, environment: string | undefined) {
    this.client = client;
    this.environment = environment;
    this.leases = new Leases(client, environment);
  }

  /** Needs no worker. */
  async list(app?: string): Promise<ListedSettings[]> {
    const failoverVersion = await failoverVersionOf(this.client);
    const leases = await this.leases.stored(app);
    return leases.map((lease) => listed(lease, failoverVersion));
  }

  /**
   * Changes them for one application, or for all that Temporal lists. Needs no worker: the workflow of the lease is stopped
   * and started again with the new settings, so that no process can own the lease with the old ones. When it resolves, a
   * call that has its turn may still be written for 1.3 s.
   */
  async change(
    change: SettingsChange | ((app: string) => SettingsChange),
    { app }: { app?: string | undefined } = {},
  ): Promise<ListedSettings[]> {
    const changeOf = typeof change === 'function' ? change : () => change;
    const leases = await this.leases.stored(app);
    const failoverVersion = await failoverVersionOf(this.client);
    for (const lease of leases) complete(changeOf(lease.app), lease.settings.shared, failoverVersion);
    const changed: ListedSettings[] = [];
    for (const { app: name, workflowId } of leases)
      changed.push(await this.changeLease(name, workflowId, changeOf(name), failoverVersion));
    return changed;
  }

  /**
   * Changes those of one application, even if Temporal does not list it: no worker has served it yet, or its visibility is
   * not restored yet. `isFirst`: does nothing if there are settings.
   */
  async changeOne(
    app: string,
    appId: string,
    change: SettingsChange,
    isFirst = false,
  ): Promise<ListedSettings> {
    const workflowId = leaseWorkflowId(requireEnvironment(this.environment), appId);
    const known = await unlessGone(() => this.leases.describe(app, workflowId));
    const failoverVersion = await failoverVersionOf(this.client);
    if (isFirst && known?.settings.shared) return listed(known, failoverVersion);
    const problem = appIdProblem(await this.leases.idsByApp(), app, workflowId);
    if (problem !== undefined) throw new SettingsChangeError(problem);
    complete(change, known?.settings.shared, failoverVersion);
    return this.changeLease(app, workflowId, change, failoverVersion);
  }

  /**
   * From the settings that the stopped workflow had at its end, so that no other change is lost. After a failover since
   * `failoverVersion` was read, the new settings do not count.
   */
  private async changeLease(
    app: string,
    workflowId: string,
    change: SettingsChange,
    failoverVersion: string,
  ): Promise<ListedSettings> {
    const { by, reason } = change;
    for (let left = MAX_ATTEMPTS; ; left -= 1) {
      const stopped = await unlessGone(async () => {
        const handle = this.client.workflow.getHandle(workflowId);
        await unlessGone(() => handle.terminate(`${by} ${SETTINGS_CHANGED}: ${reason}`));
        return handle.describe();
      });
      const before = stopped ? await latestSettings(this.client, stopped) : {};
      const at = stopped?.closeTime ?? new Date();
      const settings = { ...before, shared: changed(before.shared, change, at, failoverVersion) };
      const term = { app, settings, previousOwner: stopped ? 'unknown' : 'none' } as const;
      try {
        await startLease(this.client, this.keyOf(workflowId), term, 'FAIL');
        return listed(await this.leases.describe(app, workflowId), failoverVersion);
      } catch (error) {
        // A worker was faster.
        if (!(error instanceof WorkflowExecutionAlreadyStartedError) || left <= 1) throw error;
      }
    }
  }

  private keyOf(workflowId: string): LeaseKey {
    const environment = requireEnvironment(this.environment);
    const appId = decodeURIComponent(workflowId.slice(leaseWorkflowId(environment, '').length));
    return { environment, appId };
  }
}

function listed({ app, workflowId, settings, reported }: Lease, failoverVersion: string): ListedSettings {
  const { shared = null } = settings;
  const hasFailedOver = shared !== null && shared.failoverVersion !== failoverVersion;
  return { app, workflowId, shared, hasFailedOver, inForce: reported.settingsVersion ?? null };
}

function complete(
  { recoveredAt, approvals }: SettingsChange,
  before: SharedSettings | undefined,
  failoverVersion: string,
): { recoveredAt: string | null; approvals: ApprovalPolicy } {
  const isKept = recoveredAt === undefined || recoveredAt === 'unchanged';
  const recovered = isKept ? before?.recoveredAt : recoveredAt;
  const policy = approvals ?? before?.approvals;
  if (recovered === undefined || policy === undefined)
    throw new SettingsChangeError(
      'an application has no settings yet: give both --approvals and --recovered-at (never, unless Temporal has lost something: docs/operations.md, Shared settings)',
    );
  // Any other change would bring the old time into force again, and with it create calls that Temporal has lost (H253).
  if (before && before.failoverVersion !== failoverVersion && !saysWhatWasLost(recoveredAt, before))
    throw new SettingsChangeError(
      `the namespace has failed over since the settings were set: say when (--recovered-at with a time after ${before.at}, or now), or that nothing was lost (--recovered-at unchanged)`,
    );
  return { recoveredAt: recovered, approvals: policy };
}

function saysWhatWasLost(recoveredAt: SettingsChange['recoveredAt'], { at }: SharedSettings): boolean {
  if (recoveredAt === 'now' || recoveredAt === 'unchanged') return true;
  return typeof recoveredAt === 'string' && Date.parse(recoveredAt) > Date.parse(at);
}

function changed(
  before: SharedSettings | undefined,
  change: SettingsChange,
  at: Date,
  failoverVersion: string,
): SharedSettings {
  const { by, reason } = change;
  const { recoveredAt, approvals } = complete(change, before, failoverVersion);
  const now = at.toISOString();
  return {
    version: (before?.version ?? 0) + 1,
    by,
    at: now,
    reason,
    failoverVersion,
    approvals,
    recoveredAt: recoveredAt === 'now' ? now : recoveredAt,
  };
}
