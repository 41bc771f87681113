/** The renewals of one application as a worker process sees them: started, asked, taken up when they were ended. */
import { type Client, type WorkflowExecutionDescription, WorkflowNotFoundError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { z } from 'zod';
import { PAYOUTS_TASK_QUEUE, tokenWorkflowId } from '../../domain/identity.ts';
import {
  type CurrentGrant,
  type Grant,
  heldFrom,
  newTokenRecord,
  type TokenOwner,
  type TokenRecord,
} from '../../domain/token-record.ts';
import { APP } from '../../temporal/search-keys.ts';
import { isStopped, STOPPED_STATUSES } from '../../temporal/stopped.ts';
import { authorizedSignal, currentGrantQuery, renewUpdate } from '../../workflows/token-messages.ts';
import type { tokenRenewal } from '../../workflows/token-renewal.ts';
import { type EndedRun, endedRun } from './ended-run.ts';

/** Thrown when a user has never authorized this application, or has to do it again. */
export class NotAuthorizedError extends Error {
  override readonly name = 'NotAuthorizedError';
  constructor() {
    super('the user has not authorized this application');
  }
}

/** Nobody who waits for a token waits longer for Temporal than this. */
const TEMPORAL_ANSWERS_WITHIN_MS = 10_000;

export class TokenRenewals {
  private readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  /** The grant that stands now; starts what should run and does not. Throws `NotAuthorizedError`. */
  async current(owner: TokenOwner): Promise<CurrentGrant> {
    await this.ensure(owner);
    const grant = await this.ask(owner);
    if (grant) return grant;
    if (owner.openId !== undefined) throw new NotAuthorizedError();
    return this.renewed(owner, '');
  }

  /** The grant after the one with this fingerprint, renewed now if it still stands. */
  async renewed(owner: TokenOwner, rejected: string): Promise<CurrentGrant> {
    await this.ensure(owner);
    await this.soon(() => this.handle(owner).executeUpdate(renewUpdate, { args: [{ rejected }] }));
    const grant = await this.ask(owner);
    if (!grant) throw new NotAuthorizedError();
    return grant;
  }

  /** Starts the application's renewal, and takes up whatever was ended by force; a user's is never made up. */
  async ensure(owner: TokenOwner): Promise<void> {
    const last = await this.describe(owner);
    if (last?.status.name === 'RUNNING') return;
    if (last && isStopped(last.status)) return this.takeUp(owner, last.runId);
    if (owner.openId !== undefined) throw new NotAuthorizedError();
    await this.begin(owner, [owner]);
  }

  /** Looks for renewals of this application that were ended by force, and takes them up. */
  async sweep({ environment, app }: TokenOwner): Promise<void> {
    const query = `WorkflowType = 'tokenRenewal' AND PayoutApp = '${app}' AND ExecutionStatus IN ${STOPPED_STATUSES}`;
    const ids = new Set<string>();
    for await (const { workflowId } of this.client.workflow.list({ query })) ids.add(workflowId);
    const user = `${tokenWorkflowId(app, '')}`;
    for (const id of ids) {
      const openId = id.startsWith(user) ? id.slice(user.length) : undefined;
      await this.ensure({ environment, app, openId }).catch((error: unknown) => {
        if (!(error instanceof NotAuthorizedError)) throw error;
      });
    }
  }

  /** The user has just authorized. */
  async handOver(owner: TokenOwner, grant: Grant): Promise<void> {
    await this.client.workflow.signalWithStart<typeof tokenRenewal, [Grant]>('tokenRenewal', {
      ...options(owner),
      args: [owner],
      signal: authorizedSignal,
      signalArgs: [grant],
    });
  }

  /**
   * A renewal in flight when it was ended may have used up the refresh token that the history still shows; then
   * the service refuses it, and the new run is flagged. A history that cannot be read any more is flagged at once.
   */
  private async takeUp(owner: TokenOwner, runId: string): Promise<void> {
    const ended = await endedRun(this.client, idOf(owner), runId, authorizedSignal.name);
    if (!ended) return this.begin(owner, [owner, lost(owner)]);
    const last = ended.grants.at(-1);
    await this.begin(owner, last ? [owner, recordWith(owner, ended, last)] : ended.args);
  }

  /** `args`: those of `tokenRenewal`, perhaps as another run was given them. */
  private async begin(owner: TokenOwner, args: unknown[]): Promise<void> {
    await this.client.workflow.start('tokenRenewal', { ...options(owner), args });
  }

  private async describe(owner: TokenOwner): Promise<WorkflowExecutionDescription | undefined> {
    try {
      return await this.soon(() => this.handle(owner).describe());
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  private async ask(owner: TokenOwner): Promise<CurrentGrant | null> {
    return this.soon(() => this.handle(owner).query(currentGrantQuery));
  }

  private handle(owner: TokenOwner) {
    return this.client.workflow.getHandle<typeof tokenRenewal>(idOf(owner));
  }

  private soon<T>(ask: () => Promise<T>): Promise<T> {
    return this.client.withDeadline(Date.now() + TEMPORAL_ANSWERS_WITHIN_MS, ask);
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
    typedSearchAttributes: new TypedSearchAttributes([{ key: APP, value: app }]),
    staticSummary: openId === undefined ? 'application token' : 'user token',
  } as const;
}

/** As the run would have kept it; what deserves attention about it shows again at its next renewal. */
function recordWith(
  owner: TokenOwner,
  { args, grants }: EndedRun,
  { grant, askedAtMs }: EndedRun['grants'][number],
): TokenRecord {
  const before = carriedSchema.safeParse(args[1]);
  const generation = (before.success ? before.data.generation : 0) + grants.length;
  return { ...newTokenRecord(), held: heldFrom(owner, grant, askedAtMs, Math.random()), generation };
}

const carriedSchema = z.object({ generation: z.number() });

function lost({ openId }: TokenOwner): TokenRecord {
  if (openId === undefined) return newTokenRecord();
  const message = 'the renewal was ended and its history is gone: the user must authorize again';
  return { ...newTokenRecord(), needsAuthorization: true, attention: [{ code: 'RENEWAL_LOST', message }] };
}
