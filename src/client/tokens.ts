/** The tokens as operators see them: whose, until when, and whether somebody has to do something. */

import type { Client } from '@temporalio/client';
import { tokenWorkflowId } from '../contract/ids.ts';
import { renewUpdate, tokenStateQuery } from '../contract/token-messages.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { TokenState } from '../domain/token-record.ts';

/** Renewals that do not run any more, with how they ended, are shown too: their tokens run out. */
export type ListedToken = TokenState | { workflowId: string; app: string; ended: string };

export class Tokens {
  private readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  /** Every token of one application; its own first. */
  async list(app: string, limit: number): Promise<ListedToken[]> {
    const found: ListedToken[] = [];
    const query = `WorkflowType = 'tokenRenewal' AND PayoutApp = '${app}' AND ExecutionStatus != 'ContinuedAsNew'`;
    const seen = new Set<string>();
    for await (const { workflowId, status } of this.client.workflow.list({ query })) {
      // A renewal that was taken up again is the same renewal; the latest run comes first.
      if (seen.has(workflowId)) continue;
      seen.add(workflowId);
      found.push(
        status.name === 'RUNNING'
          ? await this.client.workflow.getHandle(workflowId).query(tokenStateQuery)
          : { workflowId, app, ended: status.name },
      );
      if (found.length === limit) break;
    }
    return found.sort((one, two) => rank(one) - rank(two));
  }

  /**
   * Renews now (without `openId` the application's own), and answers once the provider gave a token or said no. Throws Temporal's
   * `WorkflowUpdateFailedError` (`NotAcceptedNow`) where only the user can go on, and `WorkflowNotFoundError`.
   */
  async renew(app: string, openId?: string): Promise<TokenState> {
    return this.handle(app, openId).executeUpdate(renewUpdate);
  }

  private handle(app: string, openId: string | undefined) {
    return this.client.workflow.getHandle<WorkflowSignatures['tokenRenewal']>(tokenWorkflowId(app, openId));
  }
}

function rank(token: ListedToken): number {
  return 'kind' in token && token.kind === 'application' ? 0 : 1;
}
