/** The tokens for operators: the owner, the expiry, and whether somebody must act. */
import type { Client } from '@temporalio/client';
import { tokenWorkflowId } from '../contract/ids.ts';
import type { TokenState } from '../contract/tokens.ts';
import { renewUpdate, tokenStateQuery, type WorkflowSignatures } from '../contract/workflows.ts';
import { WorkflowStuckError } from '../temporal/client-errors.ts';
import { latestRuns } from '../temporal/visibility.ts';
import { retryDroppedUpdate } from './steering.ts';

/**
 * Includes renewals that no longer run, with their status, because their tokens will expire, and stuck renewals, with the
 * reason.
 */
export type ListedToken = TokenState | UnreadToken;
export type UnreadToken = { workflowId: string; app: string } & ({ ended: string } | { stuck: string });

export class Tokens {
  private readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  /** Lists at most `limit` tokens of an application, its own token first. */
  async list(app: string, limit: number): Promise<ListedToken[]> {
    const found: ListedToken[] = [];
    const query = `WorkflowType = 'tokenRenewal' AND PayoutApp = '${app}' AND ExecutionStatus != 'ContinuedAsNew'`;
    for await (const { workflowId, status } of latestRuns(this.client, query)) {
      const isRunning = status === 'RUNNING';
      found.push(isRunning ? await this.stateOrWhy(app, workflowId) : { workflowId, app, ended: status });
      if (found.length === limit) break;
    }
    return found.sort((one, two) => rank(one) - rank(two));
  }

  /**
   * Renews a user's token or, without `openId`, the application token. Resolves when the provider has issued or refused a
   * token (spec: Token exchange and refresh). Throws Temporal's `WorkflowUpdateFailedError` (`NotAcceptedNow`) if the user
   * must authorize again, and `WorkflowNotFoundError`.
   */
  async renew(app: string, openId?: string): Promise<TokenState> {
    const handle = this.client.workflow.getHandle<WorkflowSignatures['tokenRenewal']>(
      tokenWorkflowId(app, openId),
    );
    return retryDroppedUpdate(() => handle.executeUpdate(renewUpdate));
  }

  private async stateOrWhy(app: string, workflowId: string): Promise<ListedToken> {
    try {
      return await this.client.workflow.getHandle(workflowId).query(tokenStateQuery);
    } catch (error) {
      if (error instanceof WorkflowStuckError) return { workflowId, app, stuck: error.message };
      throw error;
    }
  }
}

function rank(token: ListedToken): number {
  return 'kind' in token && token.kind === 'application' ? 0 : 1;
}
