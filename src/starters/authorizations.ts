/**
 * How a user lets the application act for them: an attempt begins in a browser, goes to the payments service's
 * page, and comes back once, to the same browser. Nothing here is kept in this process.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import type { AuthorizationOutcome } from '../domain/authorization.ts';
import { authorizationWorkflowId, PAYOUTS_TASK_QUEUE } from '../domain/identity.ts';
import type { TokenSeal } from '../encryption/token-seal.ts';
import { callBackUpdate, linkUpdate } from '../workflows/authorization-messages.ts';
import type { userAuthorization } from '../workflows/user-authorization.ts';

/** What a page of ours cannot go on with: it was used, never begun here, or is too old. */
export class AttemptRefusedError extends Error {
  override readonly name = 'AttemptRefusedError';
}

export class Authorizations {
  private readonly client: Client;
  private readonly environment: string;
  private readonly seal: TokenSeal;

  constructor(parts: { client: Client; environment: string; seal: TokenSeal }) {
    this.client = parts.client;
    this.environment = parts.environment;
    this.seal = parts.seal;
  }

  /** Where to send this browser. `browser` is a secret that only it holds. */
  async begin(app: string, browser: string): Promise<URL> {
    const state = randomBytes(32).toString('base64url');
    const startWorkflowOperation = new WithStartWorkflowOperation<typeof userAuthorization>(
      'userAuthorization',
      {
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowId: authorizationWorkflowId(app, hashOf(state)),
        workflowIdConflictPolicy: 'FAIL',
        args: [{ environment: this.environment, app, browser: hashOf(browser) }],
      },
    );
    const link = await this.client.workflow.executeUpdateWithStart(linkUpdate, { startWorkflowOperation });
    const url = new URL(link);
    url.searchParams.set('state', state);
    return url;
  }

  /** What became of the attempt with this `state`. `code` undefined: access was not granted. Throws `AttemptRefusedError`. */
  async end(
    app: string,
    browser: string,
    { state, code }: { state: string; code?: string | undefined },
  ): Promise<AuthorizationOutcome> {
    const place = { environment: this.environment, app };
    const callBack = {
      browser: hashOf(browser),
      ...(code !== undefined && { code: this.seal.seal(code, place, 'code') }),
    };
    try {
      return await this.client.workflow
        .getHandle<typeof userAuthorization>(authorizationWorkflowId(app, hashOf(state)))
        .executeUpdate(callBackUpdate, { args: [callBack] });
    } catch (error) {
      if (error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError)
        throw new AttemptRefusedError('the attempt is unknown, used, too old, or of another browser');
      throw error;
    }
  }
}

/** Ids and histories hold hashes only, so whoever reads them cannot take over an attempt. */
function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
