/**
 * The rate-limit leases of applications: their owners, their rates, and the stop switch. Only workers know the `app_id` in
 * their ids, so they are found by the names of the applications.
 */
import { type Client, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { type Payload, TypedSearchAttributes } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import { appName } from '../contract/fields.ts';
import { leaseWorkflowId, PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import type {
  LeaseKey,
  LeaseSettings,
  LeaseTerm,
  Pause,
  PauseRequest,
  RateLimitState,
} from '../contract/rate-limit.ts';
import {
  argumentOf,
  pauseUpdate,
  rateLimitQuery,
  resumeUpdate,
  setCallsPerSecondUpdate,
  type WorkflowSignatures,
} from '../contract/workflows.ts';
import { inForce } from '../domain/rate-limit.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import { APP, failoverVersionOf } from '../temporal/namespace.ts';
import { firstRuns } from '../temporal/visibility.ts';
import { requireEnvironment } from './errors.ts';
import { latestSettings } from './lease-settings.ts';
import { retryDroppedUpdate } from './steering.ts';

export interface Lease {
  app: string;
  workflowId: string;
  /** The Temporal identity of the lease owner; null during a handover. */
  owner: string | null;
  /** What the owner reports. Empty during a handover, and if this process cannot decrypt it. */
  reported: z.output<typeof heartbeatSchema>;
  settings: LeaseSettings;
  /** When its run was started. ISO 8601. */
  startedAt: string;
}

export interface RateLimit extends RateLimitState {
  app: string;
  /** The Temporal identity of the lease owner; null during a handover. */
  owner: string | null;
  /** The calls per second that the owner reports; null if it has not reported them, as during a handover. */
  inForce: number | null;
}

const heartbeatSchema = z.object({
  callsPerSecond: z.number().exactOptional(),
  settingsVersion: z.number().exactOptional(),
});

type LeaseHandle = WorkflowHandle<WorkflowSignatures['rateLimitLease']>;

/** `PENDING_ACTIVITY_STATE_STARTED` */
const STARTED = 2;

/** Everything requires the environment of the workers. */
export class Leases {
  private readonly client: Client;
  private readonly environment: string | undefined;

  constructor(client: Client, environment: string | undefined) {
    this.client = client;
    this.environment = environment;
  }

  /** Throws Temporal's `WorkflowNotFoundError` if no worker has ever served the application. */
  async of(app: string): Promise<Lease> {
    const [lease] = currentOf(await this.everyOf(app));
    if (!lease) throw noLease(app);
    return lease;
  }

  /** All that have its name: a process may own any of them. Throws what `of` throws. */
  async everyOf(app: string): Promise<Lease[]> {
    const running = await this.search(app);
    // While its workflow continues as new or is started again, none may be listed as running.
    const found = running.length > 0 ? running : await this.stored(app);
    if (found.length === 0) throw noLease(app);
    return found;
  }

  /** One of each application. */
  async all(): Promise<Lease[]> {
    return currentOf(await this.search());
  }

  async describe(app: string, workflowId: string): Promise<Lease> {
    const description = await this.handle(workflowId).describe();
    const { raw, startTime } = description;
    const [held] = raw.pendingActivities ?? [];
    const owner = (held?.state === STARTED && held.lastWorkerIdentity) || null;
    const heartbeat = (owner !== null && held?.heartbeatDetails?.payloads) || [];
    const reported = await this.reportIn(heartbeat);
    return {
      app,
      workflowId,
      owner,
      reported,
      settings: await latestSettings(this.client, description),
      startedAt: startTime.toISOString(),
    };
  }

  handle(workflowId: string): LeaseHandle {
    return this.client.workflow.getHandle(workflowId);
  }

  /** Includes those whose workflow was stopped: their settings stay in force. The newest first. */
  async stored(app?: string): Promise<Lease[]> {
    return this.search(app, '');
  }

  /** Those of all applications, also stopped ones, by the name that each had last. Needs no payload key. */
  async idsByApp(): Promise<Map<string, string[]>> {
    const prefix = leaseWorkflowId(requireEnvironment(this.environment), '');
    // A run that has continued as new says nothing about the name that the lease has now.
    const query = "WorkflowType = 'rateLimitLease' AND ExecutionStatus != 'ContinuedAsNew'";
    const runs = await firstRuns(this.client, query, Number.POSITIVE_INFINITY);
    runs.sort((one, two) => one.startedMs - two.startedMs);
    const apps = new Map(runs.map(({ workflowId, attribute }) => [workflowId, attribute('PayoutApp')]));
    const ids = new Map<string, string[]>();
    for (const [workflowId, app] of apps)
      if (typeof app === 'string' && workflowId.startsWith(prefix))
        ids.set(app, [...(ids.get(app) ?? []), workflowId]);
    return ids;
  }

  /** The calls per second, who set them, and the lease owner. Throws what `of` throws. */
  async rateLimit(app: string): Promise<RateLimit> {
    const { workflowId, owner, reported } = await this.of(app);
    const state = await this.handle(workflowId).query(rateLimitQuery);
    return { app, ...state, owner, inForce: reported.callsPerSecond ?? null };
  }

  /**
   * Sets the calls per second (null: each worker's configuration). Takes effect after about half a second, without a
   * restart. Throws `WorkflowUpdateFailedError` unless it is an integer from 1 to 10,000 or null.
   */
  async setCallsPerSecond(app: string, callsPerSecond: number | null, by: string): Promise<RateLimit> {
    const { workflowId } = await this.of(app);
    const argument = argumentOf(setCallsPerSecondUpdate, { callsPerSecond, by });
    const state = await retryDroppedUpdate(() =>
      this.handle(workflowId).executeUpdate(setCallsPerSecondUpdate, { args: [argument] }),
    );
    const { owner } = await this.describe(app, workflowId);
    // The owner reports the new rate only after a handover.
    return { app, ...state, owner, inForce: null };
  }

  /** The newest first. */
  private async search(app?: string, status = " AND ExecutionStatus = 'Running'"): Promise<Lease[]> {
    const prefix = leaseWorkflowId(requireEnvironment(this.environment), '');
    // A name that is not valid could change the meaning of the query.
    if (app !== undefined && !appName.safeParse(app).success) return [];
    const filter = app === undefined ? '' : ` AND PayoutApp = '${app}'`;
    const query = `WorkflowType = 'rateLimitLease'${status}${filter}`;
    const runs = await firstRuns(this.client, query, Number.POSITIVE_INFINITY);
    runs.sort((one, two) => two.startedMs - one.startedMs);
    const leases = new Map<string, Lease>();
    for (const { workflowId, attribute } of runs) {
      const name = attribute('PayoutApp');
      if (typeof name !== 'string' || !workflowId.startsWith(prefix) || leases.has(workflowId)) continue;
      const lease = await unlessGone(() => this.describe(name, workflowId));
      if (lease) leases.set(workflowId, lease);
    }
    return [...leases.values()];
  }

  private async reportIn(heartbeat: Payload[]): Promise<Lease['reported']> {
    try {
      const [details] = await decodeArrayFromPayloads(this.client.options.loadedDataConverter, heartbeat);
      return heartbeatSchema.parse(details);
    } catch {
      return {};
    }
  }
}

/**
 * The problem with the `app_id` of an application; undefined if there is none. Orders, tokens and the rate limit belong to
 * an `app_id`, so it stays (H373). `ids`: see `idsByApp`.
 */
export function appIdProblem(
  ids: ReadonlyMap<string, readonly string[]>,
  app: string,
  workflowId: string,
): string | undefined {
  const leases = (ids.get(app) ?? []).filter((id) => id !== workflowId);
  if (leases.length === 0) return undefined;
  return `the application ${app} has another app_id (${leases.join(', ')}): give a new app_id another name, or delete the lease of one that was never used (docs/operations.md, A new app_id)`;
}

function noLease(app: string): WorkflowNotFoundError {
  return new WorkflowNotFoundError(`no rate-limit lease of ${app}`, '', undefined);
}

/** One for each application: of several with its name, one that has an owner. */
function currentOf(leases: readonly Lease[]): Lease[] {
  const current = new Map<string, Lease>();
  for (const lease of leases) {
    const known = current.get(lease.app);
    if (!known || (known.owner === null && lease.owner !== null)) current.set(lease.app, lease);
  }
  return [...current.values()];
}

/** Starts the workflow of a lease, which needs no worker. `FAIL`: throws if it runs. */
export async function startLease(
  client: Client,
  { environment, appId }: LeaseKey,
  term: LeaseTerm,
  workflowIdConflictPolicy: 'FAIL' | 'USE_EXISTING',
): Promise<void> {
  const { app, settings } = term;
  await client.workflow.start<WorkflowSignatures['rateLimitLease']>('rateLimitLease', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: leaseWorkflowId(environment, appId),
    workflowIdConflictPolicy,
    args: [{ environment, appId }, term],
    memo: { settings },
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
    staticSummary: `rate limit of ${app}`,
  });
}

export interface Pausable {
  app: string;
  /** Null: not paused. */
  paused: Pause | null;
}

/** The stop switch of an application: while it is paused, no call is sent that creates an order or a receiving account. */
export class Pauses {
  private readonly client: Client;
  private readonly leases: Leases;

  constructor({ client, environment }: { client: Client; environment?: string | undefined }) {
    this.client = client;
    this.leases = new Leases(client, environment);
  }

  /** Needs no worker. Throws Temporal's `WorkflowNotFoundError` if no worker has ever served the application. */
  async state(app: string): Promise<Pausable> {
    const [failoverVersion, lease] = await Promise.all([failoverVersionOf(this.client), this.leases.of(app)]);
    return pausable(lease, failoverVersion);
  }

  /** Every application that a worker has served. A new one may be missing for some seconds. */
  async list(): Promise<Pausable[]> {
    const failoverVersion = await failoverVersionOf(this.client);
    return (await this.leases.all()).map((lease) => pausable(lease, failoverVersion));
  }

  /**
   * Stops the create calls of an application, in every process. For 1.3 s after it resolves, a call may still be written.
   * Needs a running worker. Pausing again changes nothing.
   */
  pause(app: string, { by, reason }: PauseRequest): Promise<Pausable> {
    return this.change(app, (lease) =>
      lease.executeUpdate(pauseUpdate, { args: [argumentOf(pauseUpdate, { by, reason })] }),
    );
  }

  /** Ends the pause. The payouts that wait for it continue within a minute. */
  resume(app: string, { by }: Pick<PauseRequest, 'by'>): Promise<Pausable> {
    return this.change(app, (lease) =>
      lease.executeUpdate(resumeUpdate, { args: [argumentOf(resumeUpdate, { by })] }),
    );
  }

  /** Changes every lease that has its name. */
  private async change(
    app: string,
    send: (lease: LeaseHandle) => Promise<RateLimitState>,
  ): Promise<Pausable> {
    const leases = await this.leases.everyOf(app);
    const changed = leases.map(({ workflowId }) =>
      retryDroppedUpdate(() => send(this.leases.handle(workflowId))),
    );
    const [[state], [lease]] = [await Promise.all(changed), leases];
    if (!lease) return { app, paused: state?.paused ?? null };
    const settings = { ...lease.settings, paused: state?.paused ?? undefined };
    return pausable({ ...lease, settings }, await failoverVersionOf(this.client));
  }
}

export const SETTINGS_MISSING_REASON =
  'its shared settings are missing, or from before a failover: payouts settings';

/** Without shared settings, nothing is sent either. */
function pausable({ app, settings, startedAt }: Lease, failoverVersion: string): Pausable {
  const { paused, shared } = inForce(settings, failoverVersion);
  if (paused || shared) return { app, paused: paused ?? null };
  return { app, paused: { by: 'durable payouts', at: startedAt, reason: SETTINGS_MISSING_REASON } };
}
