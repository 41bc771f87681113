/** Ids that others rely on: every key derives from the payout's identity. */

/** The name of an application, which stands in ids. */
export const APP_NAME = /^[a-z0-9-]{1,32}$/;

export const PAYOUTS_TASK_QUEUE = 'payouts';

export function payoutWorkflowId(app: string, partnerOrderId: string): string {
  return `payout:${app}:${partnerOrderId}`;
}

/** What looks again after the payout's end. */
export function payoutFollowUpWorkflowId(app: string, partnerOrderId: string): string {
  return `payout-follow-up:${app}:${partnerOrderId}`;
}

/** One call of the Nexus operation `pay`; the call's own id makes it unique. */
export function payoutOperationWorkflowId(app: string, partnerOrderId: string, requestId: string): string {
  return `payout-operation:${app}:${partnerOrderId}:${requestId}`;
}

/** The application and the number in a payout's workflow id; undefined where it is somebody's own invention. */
export function payoutOf(workflowId: string): { app: string; partnerOrderId: string } | undefined {
  const [, app, partnerOrderId] = /^payout:([^:]+):(.+)$/s.exec(workflowId) ?? [];
  return app !== undefined && partnerOrderId !== undefined ? { app, partnerOrderId } : undefined;
}

/** The same of a follow-up's workflow id. */
export function payoutOfFollowUp(workflowId: string): ReturnType<typeof payoutOf> {
  return workflowId.startsWith('payout-follow-up:')
    ? payoutOf(workflowId.replace('payout-follow-up:', 'payout:'))
    : undefined;
}

/** The environment in the name of a queue that `apiTaskQueue` made. */
export function environmentOfQueue(queue: string): string | undefined {
  return /^payouts-api:([^:]+):/.exec(queue)?.[1];
}

/** The Temporal Schedule that finds what was stopped or ended; its workflows add a time to this. */
export function reconciliationId(environment: string): string {
  return `payout-reconciliation:${environment}`;
}

/** The Temporal Schedule of the daily report. */
export function reportId(environment: string): string {
  return `payout-report:${environment}`;
}

export function payoutBatchWorkflowId(app: string, batchId: string): string {
  return `payout-batch:${app}:${batchId}`;
}

/** A part of a batch, named by its rows too: other rows are another part. */
export function batchPartWorkflowId(app: string, batchId: string, offset: number, digest: string): string {
  return `payout-batch-part:${app}:${batchId}:${offset}:${digest.slice(0, 16)}`;
}

/** The opening of a receiving account, known by the caller's own number of the request. */
export function receivingAccountWorkflowId(app: string, requestId: string): string {
  return `receiving-account:${app}:${requestId}`;
}

/** The queue that carries every call to the payments service for one application of one environment. */
export function apiTaskQueue(environment: string, app: string): string {
  return `payouts-api:${environment}:${app}`;
}

/**
 * The kinds of token calls. Each has a task queue with slots of its own, so that calls of one kind that hang, or come
 * by the hundred, hold up no other. The gate of the rate limit ranks them.
 */
export const TOKEN_LINES = ['application', 'urgent', 'due', 'anonymous'] as const;

/**
 * `application`: the application token, first of all. `urgent`: refreshes that a call waits for, or of a token about
 * to expire, ahead of creates. `due`: all other refreshes, behind creates. `anonymous`: exchanges of authorization
 * codes, which anybody can cause, behind creates.
 */
export type TokenLine = (typeof TOKEN_LINES)[number];

/** The task queue of one kind of token calls of one application of one environment. */
export function tokenTaskQueue(environment: string, app: string, line: TokenLine): string {
  return `payouts-tokens-${line}:${environment}:${app}`;
}

/** The queue on which worker processes wait for the rate-limit lease of an `app_id`; each has one slot. */
export function leaseTaskQueue(environment: string, appId: string): string {
  return `payouts-lease:${environment}:${encodeURIComponent(appId)}`;
}

/** The rate-limit lease of an `app_id`. The application's name is no part of it: two names are one rate limit. */
export function leaseWorkflowId(environment: string, appId: string): string {
  return `rate-limit:${environment}:${encodeURIComponent(appId)}`;
}

/** The renewal of a user's token, or without `openId` of the application's own. */
export function tokenWorkflowId(app: string, openId?: string): string {
  return openId === undefined ? `token:${app}:application` : `token:${app}:user:${openId}`;
}

/** The exchange of one authorization code, known by the hash of the attempt's `state`: it can be started only once. */
export function authorizationWorkflowId(app: string, stateHash: string): string {
  return `authorization:${app}:${stateHash}`;
}
