/** The workflow ids and task queue names, all derived from the caller's own ids. */

/** The name of an application. It is part of workflow ids. */
export const APP_NAME = /^[a-z0-9-]{1,32}$/;

/**
 * Only printable ASCII, so that two texts that look the same are the same: no look-alikes of other scripts, no invisible
 * characters, no two forms of one letter. No quotes and backslashes, which have a meaning in visibility queries. No
 * spaces at the ends.
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
  `must be 1 to ${most} printable ASCII characters, without quotes and backslashes, and without spaces at the ends`;

/** An id that a caller chooses: it is the identity of a payout or a request, and part of workflow ids. */
export const OWN_ID = notDots(plainText(64));
export const OWN_ID_RULE = `${plainTextRule(64).replace('and without', 'without')}, and not "." or ".."`;

/** A key of `metadata`. */
export const METADATA_KEY = plainText(40);
export const METADATA_KEY_RULE = plainTextRule(40).replace('must be', 'its key must be');
export const PAYOUTS_TASK_QUEUE = 'payouts';

export function payoutWorkflowId(app: string, partnerOrderId: string): string {
  return `payout:${app}:${partnerOrderId}`;
}

/** The caller's own id in the workflow id of a payout or of a receiving account. */
export function ownIdOf(workflowId: string): string {
  return workflowId.split(':').slice(2).join(':');
}

/** The follow-up of a payout. */
export function payoutFollowUpWorkflowId(app: string, partnerOrderId: string): string {
  return `payout-follow-up:${app}:${partnerOrderId}`;
}

/** The acknowledgement of the flags of a payout that has ended. */
export function payoutAcknowledgementWorkflowId(app: string, partnerOrderId: string): string {
  return `payout-acknowledgement:${app}:${partnerOrderId}`;
}

/** One call of the Nexus operation `pay`. The request id of the call makes it unique. */
export function payoutOperationWorkflowId(app: string, partnerOrderId: string, requestId: string): string {
  return `${payoutOperationsPrefix(app)}${partnerOrderId}:${requestId}`;
}

/** How the ids of all operations of an application begin. */
export function payoutOperationsPrefix(app: string): string {
  return `payout-operation:${app}:`;
}

/** The application that a workflow works for; undefined if it works for several, or for all. */
export function applicationOf(workflowId: string): string | undefined {
  const [kind = '', first, second] = workflowId.split(':');
  if (kind === 'events') return second;
  return OF_ONE_APPLICATION.includes(kind) ? first : undefined;
}

/** How the ids begin that have the application in the second place. */
const OF_ONE_APPLICATION: readonly string[] = [
  ...[
    'payout',
    'payout-follow-up',
    'payout-acknowledgement',
    'payout-operation',
    'payout-batch',
    'payout-batch-part',
  ],
  ...['receiving-account', 'token', 'authorization'],
];

/** The application and the `partnerOrderId` in a payout's workflow id; undefined if it is not the id of a payout. */
export function payoutOf(workflowId: string): { app: string; partnerOrderId: string } | undefined {
  const [, app, partnerOrderId] = /^payout:([^:]+):(.+)$/s.exec(workflowId) ?? [];
  return app !== undefined && partnerOrderId !== undefined ? { app, partnerOrderId } : undefined;
}

/** The same for the workflow id of a follow-up. */
export function payoutOfFollowUp(workflowId: string): ReturnType<typeof payoutOf> {
  return workflowId.startsWith('payout-follow-up:')
    ? payoutOf(workflowId.replace('payout-follow-up:', 'payout:'))
    : undefined;
}

/** The environment in the name of a task queue from `apiTaskQueue`. */
export function environmentOfQueue(queue: string): string | undefined {
  return /^payouts-api:([^:]+):/.exec(queue)?.[1];
}

/** The Temporal Schedule of the reconciliation. Temporal appends the time to the ids of its workflows. */
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

/** A part of a batch. The id contains the digest of the rows, so other rows are another part. */
export function batchPartWorkflowId(app: string, batchId: string, offset: number, digest: string): string {
  return `payout-batch-part:${app}:${batchId}:${offset}:${digest.slice(0, 16)}`;
}

/** The opening of a receiving account, under the caller's own `requestId`. */
export function receivingAccountWorkflowId(app: string, requestId: string): string {
  return `receiving-account:${app}:${requestId}`;
}

/** The task queue of all calls to the provider for one application in one environment, except token calls. */
export function apiTaskQueue(environment: string, app: string): string {
  return `payouts-api:${environment}:${app}`;
}

/**
 * The kinds of token calls. Each has its own task queue and slots, so that slow or numerous calls of one kind do not
 * delay the others. The rate limiter orders them.
 */
export const TOKEN_LANES = ['application', 'urgent', 'due', 'anonymous'] as const;

/**
 * `application`: the application token, before all other calls. `urgent`: refreshes that a call waits for, or of a
 * token that is about to expire, before creates. `due`: all other refreshes, after creates. `anonymous`: exchanges of
 * authorization codes, which anyone can trigger, after creates.
 */
export type TokenLane = (typeof TOKEN_LANES)[number];

/** The task queue of one kind of token calls for one application in one environment. */
export function tokenTaskQueue(environment: string, app: string, lane: TokenLane): string {
  return `payouts-tokens-${lane}:${environment}:${app}`;
}

/** The task queue on which worker processes wait for the rate-limit lease of an `app_id`. Each process has one slot. */
export function leaseTaskQueue(environment: string, appId: string): string {
  return `payouts-lease:${environment}:${encodeURIComponent(appId)}`;
}

/** The task queue that a Nexus endpoint for an application targets. */
export function nexusTaskQueue(environment: string, app: string): string {
  return `payouts-nexus:${environment}:${app}`;
}

/** The name under which Nexus calls to an application start payouts. No caller of the HTTP API can have it. */
export function nexusCaller(app: string): string {
  return `nexus:${app}`;
}

/**
 * The rate-limit lease of an `app_id`. The application's name is not part of the id: two names share one rate limit.
 */
export function leaseWorkflowId(environment: string, appId: string): string {
  return `rate-limit:${environment}:${encodeURIComponent(appId)}`;
}

/** What a caller has started on a day: `caller` is a name in `PAYOUTS_API_KEYS_FILE`, or that of `nexusCaller`. */
export function allowanceWorkflowId(environment: string, caller: string): string {
  return `allowance:${environment}:${caller}`;
}

/** The delivery of outgoing events to one endpoint of an application. */
export function eventDeliveryWorkflowId(environment: string, app: string, endpoint: string): string {
  return `events:${environment}:${app}:${endpoint}`;
}

/** The task queue on which workers send events. Slow endpoints take no slot from payouts. */
export function eventsTaskQueue(environment: string): string {
  return `payouts-events:${environment}`;
}

/** The renewal of a user's token or, without `openId`, of the application token. */
export function tokenWorkflowId(app: string, openId?: string): string {
  return openId === undefined ? `token:${app}:application` : `token:${app}:user:${openId}`;
}

/**
 * The exchange of one authorization code. The id contains the hash of the attempt's `state`, so it starts only once.
 */
export function authorizationWorkflowId(app: string, stateHash: string): string {
  return `authorization:${app}:${stateHash}`;
}

const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

/**
 * The fairness key of a client: a 64-bit FNV-1a hash of its id. Temporal does not encrypt fairness keys and rejects
 * keys over 64 bytes. If two clients collide, they only share one turn.
 */
export function fairnessKey(id: string): string {
  let hash = OFFSET;
  for (let at = 0; at < id.length; at += 1) hash = ((hash ^ BigInt(id.charCodeAt(at))) * PRIME) & MASK;
  return hash.toString(16).padStart(16, '0');
}

/** A hash, because Temporal does not encrypt search attributes. */
export function clientPair(
  environment: string,
  { app, clientId, payerId }: { app: string; clientId: string; payerId: string },
): string {
  return fairnessKey(JSON.stringify([environment, app, clientId, payerId]));
}
