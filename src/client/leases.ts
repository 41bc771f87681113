/** Finds the rate-limit leases by the names of their applications, because only workers know the `app_id` in their ids. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { type Payload, TypedSearchAttributes } from '@temporalio/common';
import { appName } from '../contract/fields.ts';
import { leaseWorkflowId, PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import { type LeaseKey, type LeaseSettings, type LeaseTerm, settingsIn } from '../contract/rate-limit.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import { APP } from '../temporal/namespace.ts';
import { type ListedRun, listRunPages } from '../temporal/visibility.ts';

export interface Lease {
  app: string;
  workflowId: string;
  /** The Temporal identity of the lease owner; null during a handover. */
  owner: string | null;
  /** The last heartbeat of the owner. */
  heartbeat: Payload[];
  settings: LeaseSettings;
  /** When its run was started. ISO 8601. */
  startedAt: string;
}

/** `PENDING_ACTIVITY_STATE_STARTED` */
const STARTED = 2;
const PAGE_SIZE = 100;

export class Leases {
  private readonly client: Client;
  private readonly environment: string;

  constructor(client: Client, environment: string) {
    this.client = client;
    this.environment = environment;
  }

  /** Throws Temporal's `WorkflowNotFoundError` if no worker has ever served the application. */
  async of(app: string): Promise<Lease> {
    const [lease] = currentOf(await this.everyOf(app));
    if (!lease) throw noLease(app);
    return lease;
  }

  /** Also those of its earlier `app_id`s, which a process may still own. Throws what `of` throws. */
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
    const { raw, memo, startTime } = await this.handle(workflowId).describe();
    const [held] = raw.pendingActivities ?? [];
    const owner = (held?.state === STARTED && held.lastWorkerIdentity) || null;
    const heartbeat = (owner !== null && held?.heartbeatDetails?.payloads) || [];
    const startedAt = startTime.toISOString();
    return { app, workflowId, owner, heartbeat, settings: settingsIn(memo), startedAt };
  }

  handle(workflowId: string) {
    return this.client.workflow.getHandle<WorkflowSignatures['rateLimitLease']>(workflowId);
  }

  /** Also those whose workflow was stopped: their settings stay in force. The newest first. */
  async stored(app?: string): Promise<Lease[]> {
    return this.search(app, '');
  }

  /** The newest first. */
  private async search(app?: string, status = " AND ExecutionStatus = 'Running'"): Promise<Lease[]> {
    // A name that is not valid could change the meaning of the query.
    if (app !== undefined && !appName.safeParse(app).success) return [];
    const filter = app === undefined ? '' : ` AND PayoutApp = '${app}'`;
    const query = `WorkflowType = 'rateLimitLease'${status}${filter}`;
    const runs: ListedRun[] = [];
    for await (const page of listRunPages(this.client, query, PAGE_SIZE)) runs.push(...page);
    runs.sort((one, two) => two.startedMs - one.startedMs);
    const leases = new Map<string, Lease>();
    for (const { workflowId, attribute } of runs) {
      const app = attribute('PayoutApp');
      if (typeof app !== 'string' || !workflowId.startsWith(leaseWorkflowId(this.environment, ''))) continue;
      if (!leases.has(workflowId)) leases.set(workflowId, await this.describe(app, workflowId));
    }
    return [...leases.values()];
  }
}

function noLease(app: string): WorkflowNotFoundError {
  return new WorkflowNotFoundError(`no rate-limit lease of ${app}`, '', undefined);
}

/** After a change of the `app_id`, the application's old lease still exists, without an owner. */
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
