/** Starts the token renewals of an application, requests tokens from them, and restarts stopped ones. */
import {
  type Client,
  WorkflowNotFoundError,
  type WorkflowStartOptions,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { WorkerConfig } from '../../config/config.ts';
import { PAYOUTS_TASK_QUEUE, tokenWorkflowId } from '../../contract/ids.ts';
import type { CurrentGrant, Grant, TokenOwner } from '../../contract/tokens.ts';
import { authorizedSignal, grantUpdate } from '../../contract/workflows.ts';
import { TOKEN_HANDOVER_TIMEOUT_MS } from '../../domain/time.ts';
import type { ProblemLog } from '../../observability/log.ts';
import { type Runtime, repeat, sleep } from '../../runtime/runtime.ts';
import { unlessGone } from '../../temporal/client-errors.ts';
import { APP } from '../../temporal/namespace.ts';
import { isStopped, latestRuns, STOPPED_STATUSES } from '../../temporal/visibility.ts';
import type { tokenRenewal } from '../../workflows/tokens/token-renewal.ts';

/** The user has never authorized this application, or must authorize it again. */
class NotAuthorizedError extends Error {
  override readonly name = 'NotAuthorizedError';
  constructor() {
    super('the user has not authorized this application');
  }
}

/** The longest that a call waits for Temporal to get a token. */
const REQUEST_TIMEOUT_MS = 10_000;
/** The delay if a process dies during a workflow task. The default, 10 s, is as long as `REQUEST_TIMEOUT_MS`. */
const WORKFLOW_TASK_TIMEOUT = '4s';
/** Before a failure without a token, because callers retry immediately. */
const NO_TOKEN_PAUSE_MS = 500;
const MIN_HANDOVER_PAUSE_MS = 500;
const MAX_HANDOVER_PAUSE_MS = 10_000;
/** A call also restarts the renewal that it needs. */
const CHECK_EVERY_MS = 300_000;

/** Ensures that all tokens of this process have running renewals, until the returned function is called. */
export function keepRenewals(
  client: Client,
  { env, applications }: WorkerConfig,
  runtime: Runtime,
  log: ProblemLog,
): () => void {
  const renewals = new TokenRenewals(client, runtime);
  // The next check retries whatever fails.
  const check = async (app: string) => {
    const application = { environment: env.PAYMENTS_ENVIRONMENT, app };
    void renewals.ensure(application).catch(() => undefined);
    const { length: count } = await renewals.restartStopped(application).catch(() => []);
    if (count > 0) log.error({ app, count }, 'cannot restart stopped token renewals yet');
  };
  const checkAll = () => {
    for (const app of applications.keys()) void check(app);
  };
  checkAll();
  return repeat(runtime.clock, CHECK_EVERY_MS, checkAll);
}

/** Its name is in the failures that callers and operators see. */
class NoTokenYetError extends Error {
  override readonly name = 'NoTokenYetError';
}

export class TokenRenewals {
  private readonly client: Client;
  private readonly runtime: Runtime;

  constructor(client: Client, runtime: Runtime) {
    this.client = client;
    this.runtime = runtime;
  }

  /** The current grant, or the one after the grant with the fingerprint `rejected`. Throws `NotAuthorizedError`, `NoTokenYetError`. */
  async grant(owner: TokenOwner, rejected?: string): Promise<CurrentGrant> {
    const { clock, random } = this.runtime;
    return this.withTimeout(async () => {
      const grant = await this.requestGrant(owner, rejected).catch(async (error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
        await this.ensure(owner);
        return this.requestGrant(owner, rejected);
      });
      if (grant) return grant;
      await sleep(clock, NO_TOKEN_PAUSE_MS * (1 + random.number()));
      throw new NoTokenYetError('its renewal is in progress');
    });
  }

  /** Starts the application's renewal, or restarts a user's stopped renewal. Throws `NotAuthorizedError`. */
  async ensure(owner: TokenOwner): Promise<void> {
    const status = await unlessGone(async () => (await this.handle(owner).describe()).status);
    if (status?.name === 'RUNNING') return;
    if (owner.openId !== undefined && !(status && isStopped(status))) throw new NotAuthorizedError();
    await this.client.workflow.start<typeof tokenRenewal>('tokenRenewal', options(owner));
  }

  /** Restarts the stopped renewals of this application. Returns the ids of those that could not be started. */
  async restartStopped({ environment, app }: TokenOwner): Promise<string[]> {
    const query = `WorkflowType = 'tokenRenewal' AND PayoutApp = '${app}' AND ExecutionStatus IN ${STOPPED_STATUSES}`;
    const user = tokenWorkflowId(app, '');
    const failed: string[] = [];
    for await (const { workflowId } of latestRuns(this.client, query)) {
      const openId = workflowId.startsWith(user) ? workflowId.slice(user.length) : undefined;
      await this.ensure({ environment, app, openId }).catch((error: unknown) => {
        if (!(error instanceof NotAuthorizedError)) failed.push(workflowId);
      });
    }
    return failed;
  }

  /** Hands over the tokens of a user who has just authorized. Retries, because the code works only once. */
  async handOver(owner: TokenOwner, grant: Grant): Promise<void> {
    const { clock } = this.runtime;
    const start = { ...options(owner), signal: authorizedSignal, signalArgs: [grant] as [Grant] };
    const untilMs = clock.nowMs() + TOKEN_HANDOVER_TIMEOUT_MS - 2 * REQUEST_TIMEOUT_MS;
    for (let pauseMs = MIN_HANDOVER_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_HANDOVER_PAUSE_MS)) {
      try {
        await this.withTimeout(() => this.client.workflow.signalWithStart('tokenRenewal', start));
        return;
      } catch (error) {
        if (clock.nowMs() >= untilMs) throw error;
        await sleep(clock, pauseMs);
      }
    }
  }

  private async requestGrant(owner: TokenOwner, rejected: string | undefined): Promise<CurrentGrant | null> {
    try {
      return await this.handle(owner).executeUpdate(grantUpdate, { args: [{ rejected }] });
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError) throw new NotAuthorizedError();
      throw error;
    }
  }

  private handle(owner: TokenOwner) {
    return this.client.workflow.getHandle<typeof tokenRenewal>(tokenWorkflowId(owner.app, owner.openId));
  }

  private withTimeout<T>(request: () => Promise<T>): Promise<T> {
    return this.client.withDeadline(this.runtime.clock.wallMs() + REQUEST_TIMEOUT_MS, request);
  }
}

function options(owner: TokenOwner) {
  const { app, openId } = owner;
  return {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: tokenWorkflowId(app, openId),
    args: [owner] as [TokenOwner],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
    staticSummary: openId === undefined ? 'application token' : 'user token',
  } satisfies WorkflowStartOptions<typeof tokenRenewal>;
}
