/** The renewals of one application as a worker process sees them: started, asked, started again when they were ended. */
import { type Client, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { PAYOUTS_TASK_QUEUE, tokenWorkflowId } from '../../contract/ids.ts';
import { authorizedSignal, grantUpdate } from '../../contract/token-messages.ts';
import { TOKEN_HANDOVER_TIMEOUT_MS } from '../../domain/deadlines.ts';
import type { CurrentGrant, Grant, TokenOwner } from '../../domain/token-record.ts';
import { type Surroundings, sleep } from '../../surroundings/surroundings.ts';
import { APP } from '../../temporal/search-keys.ts';
import { isStopped, STOPPED_STATUSES } from '../../temporal/stopped.ts';
import type { tokenRenewal } from '../../workflows/tokens/token-renewal.ts';

/** Thrown when a user has never authorized this application, or has to do it again. */
export class NotAuthorizedError extends Error {
  override readonly name = 'NotAuthorizedError';
  constructor() {
    super('the user has not authorized this application');
  }
}

/** Thrown when a renewal has no token yet. */
export class NoTokenYetError extends Error {
  override readonly name = 'NoTokenYetError';
  constructor() {
    super('there is no token yet; its renewal is under way');
  }
}

/** Nobody who waits for a token waits longer for Temporal than this. */
const TEMPORAL_ANSWERS_WITHIN_MS = 10_000;
/**
 * A process that dies or freezes with a workflow task in hand keeps the token from all others for this long. The
 * default of 10 s is as long as they wait for it.
 */
const WORKFLOW_TASK_TIMEOUT = '4s';
/** After an answer without a token: whoever needs it asks again at once. */
const ASK_AGAIN_MS = 500;
const HAND_OVER_PAUSE_MS = 500;
const LONGEST_HAND_OVER_PAUSE_MS = 10_000;

export class TokenRenewals {
  private readonly client: Client;
  private readonly surroundings: Surroundings;

  constructor(client: Client, surroundings: Surroundings) {
    this.client = client;
    this.surroundings = surroundings;
  }

  /**
   * The grant that stands now, or the one after the token with the fingerprint `rejected`. Starts what should run and
   * does not. Throws `NotAuthorizedError`, `NoTokenYetError`.
   */
  async grant(owner: TokenOwner, rejected?: string): Promise<CurrentGrant> {
    const { clock, random } = this.surroundings;
    return this.soon(async () => {
      const grant = await this.ask(owner, rejected).catch(async (error: unknown) => {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
        await this.ensure(owner);
        return this.ask(owner, rejected);
      });
      if (grant) return grant;
      await sleep(clock, ASK_AGAIN_MS * (1 + random.number()));
      throw new NoTokenYetError();
    });
  }

  /**
   * Starts the application's renewal, and any that was ended by force: it finds out by itself what the run before it
   * knew. A user's is never made up. Throws `NotAuthorizedError`.
   */
  async ensure(owner: TokenOwner): Promise<void> {
    const status = await this.status(owner);
    if (status?.name === 'RUNNING') return;
    if (owner.openId !== undefined && !(status && isStopped(status))) throw new NotAuthorizedError();
    await this.client.workflow.start<typeof tokenRenewal>('tokenRenewal', {
      ...options(owner),
      args: [owner],
    });
  }

  /** Starts the renewals of this application that were ended by force. Answers which could not be started. */
  async sweep({ environment, app }: TokenOwner): Promise<{ workflowId: string; error: unknown }[]> {
    const query = `WorkflowType = 'tokenRenewal' AND PayoutApp = '${app}' AND ExecutionStatus IN ${STOPPED_STATUSES}`;
    const ids = new Set<string>();
    for await (const { workflowId } of this.client.workflow.list({ query })) ids.add(workflowId);
    const user = tokenWorkflowId(app, '');
    const failed: { workflowId: string; error: unknown }[] = [];
    for (const workflowId of ids) {
      const openId = workflowId.startsWith(user) ? workflowId.slice(user.length) : undefined;
      await this.ensure({ environment, app, openId }).catch((error: unknown) => {
        if (!(error instanceof NotAuthorizedError)) failed.push({ workflowId, error });
      });
    }
    return failed;
  }

  /** The user has just authorized. Tried again while Temporal does not take it, because the code works only once. */
  async handOver(owner: TokenOwner, grant: Grant): Promise<void> {
    const { clock } = this.surroundings;
    const untilMs = clock.nowMs() + TOKEN_HANDOVER_TIMEOUT_MS - 2 * TEMPORAL_ANSWERS_WITHIN_MS;
    for (let pauseMs = HAND_OVER_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_HAND_OVER_PAUSE_MS)) {
      try {
        return await this.soon(() => this.tellAuthorized(owner, grant));
      } catch (error) {
        if (clock.nowMs() >= untilMs) throw error;
        await sleep(clock, pauseMs);
      }
    }
  }

  private async tellAuthorized(owner: TokenOwner, grant: Grant): Promise<void> {
    await this.client.workflow.signalWithStart<typeof tokenRenewal, [Grant]>('tokenRenewal', {
      ...options(owner),
      args: [owner],
      signal: authorizedSignal,
      signalArgs: [grant],
    });
  }

  private async ask(owner: TokenOwner, rejected: string | undefined): Promise<CurrentGrant | null> {
    try {
      return await this.handle(owner).executeUpdate(grantUpdate, { args: [{ rejected }] });
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError) throw new NotAuthorizedError();
      throw error;
    }
  }

  private async status(owner: TokenOwner) {
    try {
      return (await this.handle(owner).describe()).status;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  private handle(owner: TokenOwner) {
    return this.client.workflow.getHandle<typeof tokenRenewal>(idOf(owner));
  }

  private soon<T>(ask: () => Promise<T>): Promise<T> {
    return this.client.withDeadline(this.surroundings.clock.wallMs() + TEMPORAL_ANSWERS_WITHIN_MS, ask);
  }
}

function idOf({ app, openId }: TokenOwner): string {
  return tokenWorkflowId(app, openId);
}

function options(owner: TokenOwner) {
  const { app, openId } = owner;
  return {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: idOf(owner),
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
    staticSummary: openId === undefined ? 'application token' : 'user token',
  } as const;
}
