/** The workflow ids and task queue names, all derived from the caller's own ids. */

/** The name of an application. It is part of workflow ids. */
export const APP_NAME = /^[a-z0-9-]{1,32}$/;

/**
 * Only printable ASCII, so that two texts that look the same are the same. Quotes and backslashes have a meaning in
 * visibility queries.
 */
const plainText = (most: number) => {
  const characters = String.raw`!\x23-\x26\x28-\x5b\x5d-\x5f\x61-\x7e`;
  return new RegExp(`^[${characters}](?:[ ${characters}]{0,${most - 2}}[${characters}])?$`);
};

/** URLs drop a path segment of one or two dots, so no HTTP client could name such an id. */
export function notDots(pattern: RegExp): RegExp {
  return new RegExp(`^(?!\\.{1,2}$)${pattern.source.slice(1)}`);
}

const plainTextRule = (most: number) =>
  `must be 1 to ${most} printable ASCII characters, without quotes and backslashes, without spaces at the ends`;

/** An id that a caller chooses: it is the identity of a payout or a request, and part of workflow ids. */
export const OWN_ID = notDots(plainText(64));
export const OWN_ID_RULE = `${plainTextRule(64)}, and not "." or ".."`;

/** A key of `metadata`. */
export const METADATA_KEY = plainText(40);
export const METADATA_KEY_RULE = plainTextRule(40).replace('must be', 'its key must be');

export const payoutWorkflowId = (app: string, partnerOrderId: string) => `payout:${app}:${partnerOrderId}`;
export const payoutFollowUpWorkflowId = (app: string, partnerOrderId: string) =>
  `payout-follow-up:${app}:${partnerOrderId}`;

/** The acknowledgement of the flags of a finished payout. */
export const payoutAcknowledgementWorkflowId = (app: string, partnerOrderId: string) =>
  `payout-acknowledgement:${app}:${partnerOrderId}`;

/** The prefix of the ids of all Nexus operations of an application. */
export const payoutOperationsPrefix = (app: string) => `payout-operation:${app}:`;

/** One call of the Nexus operation `pay`. The request id of the call makes it unique. */
export const payoutOperationWorkflowId = (app: string, partnerOrderId: string, requestId: string) =>
  `${payoutOperationsPrefix(app)}${partnerOrderId}:${requestId}`;

export const payoutBatchWorkflowId = (app: string, batchId: string) => `payout-batch:${app}:${batchId}`;

/** A part of a batch. The id contains the digest of the rows, so other rows are another part. */
export const batchPartWorkflowId = (app: string, batchId: string, offset: number, digest: string) =>
  `payout-batch-part:${app}:${batchId}:${offset}:${digest.slice(0, 16)}`;

/** A request for a receiving account, under the caller's own `requestId`. */
export const receivingAccountWorkflowId = (app: string, requestId: string) =>
  `receiving-account:${app}:${requestId}`;

/** The Temporal Schedule of the reconciliation. Temporal appends the time to the ids of its workflows. */
export const reconciliationId = (environment: string) => `payout-reconciliation:${environment}`;

/** The Temporal Schedule of the daily report. */
export const reportId = (environment: string) => `payout-report:${environment}`;

/** The rate-limit lease of an `app_id`. Two applications with the same `app_id` share one rate limit. */
export const leaseWorkflowId = (environment: string, appId: string) =>
  `rate-limit:${environment}:${encodeURIComponent(appId)}`;

/** The reservations of a caller: a name in `PAYOUTS_API_KEYS_FILE`, or that of `nexusCaller`. */
export const allowanceWorkflowId = (environment: string, caller: string) =>
  `allowance:${environment}:${caller}`;

/** The delivery of outgoing events to one endpoint of an application. */
export const eventDeliveryWorkflowId = (environment: string, app: string, endpoint: string) =>
  `events:${environment}:${app}:${endpoint}`;

/** The renewal of a user's token or, without `openId`, of the application token. */
export const tokenWorkflowId = (app: string, openId?: string) =>
  openId === undefined ? `token:${app}:application` : `token:${app}:user:${openId}`;

/** The exchange of one authorization code. The id contains the hash of the attempt's `state`, so it starts only once. */
export const authorizationWorkflowId = (app: string, stateHash: string) =>
  `authorization:${app}:${stateHash}`;

/** The name under which Nexus calls to an application start payouts. No caller of the HTTP API can have it. */
export const nexusCaller = (app: string) => `nexus:${app}`;

/** The caller's own id in the workflow id of a payout or of a receiving account. */
export function ownIdOf(workflowId: string): string {
  return workflowId.split(':').slice(2).join(':');
}

/** The application and the `partnerOrderId` in a payout's workflow id; undefined if it isn't the id of a payout. */
export function payoutOf(
  workflowId: string,
  kind = 'payout',
): { app: string; partnerOrderId: string } | undefined {
  const [prefix, app] = workflowId.split(':');
  const partnerOrderId = ownIdOf(workflowId);
  return prefix === kind && app && partnerOrderId ? { app, partnerOrderId } : undefined;
}

/** The same for the workflow id of a follow-up. */
export const payoutOfFollowUp = (workflowId: string) => payoutOf(workflowId, 'payout-follow-up');

const OF_ONE_APPLICATION =
  /^(?:payout(?:-follow-up|-acknowledgement|-operation|-batch|-batch-part)?|receiving-account|token|authorization)$/;

/** The application that a workflow works for; undefined if it works for several, or for all. */
export function applicationOf(workflowId: string): string | undefined {
  const [kind = '', first, second] = workflowId.split(':');
  if (kind === 'events') return second;
  return OF_ONE_APPLICATION.test(kind) ? first : undefined;
}

export const PAYOUTS_TASK_QUEUE = 'payouts';

/** The task queue of all calls to the provider for one application in one environment, except token calls. */
export const apiTaskQueue = (environment: string, app: string) => `payouts-api:${environment}:${app}`;

/** The environment in the name of a task queue from `apiTaskQueue`. */
export function environmentOfQueue(queue: string): string | undefined {
  return /^payouts-api:([^:]+):/.exec(queue)?.[1];
}

/**
 * The kinds of token calls. Each has its own task queue and slots, so that slow or numerous calls of one kind don't
 * delay the others. The rate limiter orders them.
 */
export const TOKEN_LANES = ['application', 'urgent', 'due', 'anonymous'] as const;

/**
 * `application`: the application token, before all other calls. `urgent`: refreshes that a call waits for, or of a
 * token that is about to expire, before create calls. `due`: all other refreshes, after create calls. `anonymous`:
 * exchanges of authorization codes, which anyone can trigger, after create calls.
 */
export type TokenLane = (typeof TOKEN_LANES)[number];

export const tokenTaskQueue = (environment: string, app: string, lane: TokenLane) =>
  `payouts-tokens-${lane}:${environment}:${app}`;

/** The task queue on which worker processes wait for the rate-limit lease of an `app_id`. Each process has one slot. */
export const leaseTaskQueue = (environment: string, appId: string) =>
  `payouts-lease:${environment}:${encodeURIComponent(appId)}`;

/** The task queue that a Nexus endpoint for an application targets. */
export const nexusTaskQueue = (environment: string, app: string) => `payouts-nexus:${environment}:${app}`;

/** The task queue on which workers send events. Slow endpoints take no slot from payouts. */
export const eventsTaskQueue = (environment: string) => `payouts-events:${environment}`;

const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

/**
 * The fairness key of a client: a 64-bit FNV-1a hash of its id. Temporal doesn't encrypt fairness keys and rejects
 * keys over 64 bytes. If two clients collide, they only share one turn.
 */
export function fairnessKey(id: string): string {
  let hash = OFFSET;
  for (let at = 0; at < id.length; at += 1) hash = ((hash ^ BigInt(id.charCodeAt(at))) * PRIME) & MASK;
  return hash.toString(16).padStart(16, '0');
}

/** A hash, because Temporal doesn't encrypt search attributes. */
export function clientPair(
  environment: string,
  {
    app,
    clientId,
    payerId,
    openId,
  }: { app: string; clientId: string; payerId: string; openId?: string | undefined },
): string {
  // Under another user's token, a query may know other orders.
  const user = openId === undefined ? [] : [openId];
  return fairnessKey(JSON.stringify([environment, app, clientId, payerId, ...user]));
}
