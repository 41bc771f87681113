/** The problems of the API server (RFC 9457). `type` is `/problems/KIND`, which the API server explains. `docs/reference.md`,
 * these pages and the schemas are generated from this table. */

import { z } from 'zod';
import { codesOf, type Explained } from './attention-codes.ts';

export interface ProblemKindInfo extends Explained {
  status: number;
  /** The document's `title`. */
  title: string;
}

const CHANGE_KEY = 'Use another key, or change this one in `PAYOUTS_API_KEYS_FILE`.';
const CHECK_ID = 'Check the id and `app`.';

export const PROBLEMS = {
  'invalid-request': {
    status: 400,
    title: 'Invalid request',
    meaning:
      'The request is invalid. `errors` names every invalid field; of a batch, the first hundred. Nothing was done.',
    action: 'Correct the fields.',
  },
  'malformed-request': {
    status: 400,
    title: 'Malformed request',
    meaning: 'The URL or the body cannot be parsed. Nothing was done.',
    action: 'Correct what `detail` names. A JSON body is UTF-8, without duplicate keys.',
  },
  'ambiguous-request': {
    status: 400,
    title: 'Ambiguous request',
    meaning:
      'The request names the same thing twice: a repeated header, an application in path and query, or a body where none is expected. Nothing was done.',
    action: 'Name each thing once.',
  },
  'notification-unusable': {
    status: 400,
    title: 'Unusable notification',
    meaning: 'The notification cannot be parsed, or contains no order id.',
    action: 'Set `PAYMENTS_NOTIFICATION_FIELDS`.',
  },
  'key-missing': {
    status: 401,
    title: 'Key missing',
    meaning: 'The request has no bearer key.',
    action: 'Send `authorization: Bearer KEY`.',
  },
  'key-unknown': {
    status: 401,
    title: 'Key unknown',
    meaning: 'The bearer key is not in `PAYOUTS_API_KEYS_FILE`, or was removed from it.',
    action: 'Send a key that the file lists.',
  },
  'key-expired': {
    status: 401,
    title: 'Key expired',
    meaning: '`expiresAt` of the key is past.',
    action: 'Send another key, or change `expiresAt` in `PAYOUTS_API_KEYS_FILE`.',
  },
  'notification-not-verified': {
    status: 401,
    title: 'Notification not verified',
    meaning: 'The signature of the notification was not accepted.',
    action: 'Check `PAYMENTS_NOTIFICATION_VERIFIER` and its secrets.',
  },
  'verb-not-allowed': {
    status: 403,
    title: 'Verb not allowed',
    meaning: 'The key lacks the verb of the route.',
    action: CHANGE_KEY,
  },
  'application-not-allowed': {
    status: 403,
    title: 'Application not allowed',
    meaning: 'The key does not include the application.',
    action: CHANGE_KEY,
  },
  'currency-not-allowed': {
    status: 403,
    title: 'Currency not allowed',
    meaning: '`largestAmount` of the key does not list the currency of `instructedAmount`.',
    action: CHANGE_KEY,
  },
  'amount-too-large': {
    status: 403,
    title: 'Amount too large',
    meaning: '`instructedAmount` exceeds `largestAmount` of the key.',
    action: CHANGE_KEY,
  },
  'daily-limit-exceeded': {
    status: 403,
    title: 'Daily limit exceeded',
    meaning:
      '`dailyAmount` or `dailyCount` of the key does not allow the payouts today (UTC). `detail` has the limit, what is reserved and what was requested. Nothing was started.',
    action:
      'Send it again after `retry-after` seconds, or raise the limit of the key. Without `retry-after`, the payouts alone exceed the limit.',
  },
  'client-not-allowed': {
    status: 403,
    title: 'Client not allowed',
    meaning: '`clientIds` of the key does not list the `clientId` of the request or of the payout.',
    action: CHANGE_KEY,
  },
  'payer-not-allowed': {
    status: 403,
    title: 'Payer not allowed',
    meaning:
      '`payerIds` of the key does not list the `payerId` of the request, the payout or the receiving account, or the route does not show the payer.',
    action: CHANGE_KEY,
  },
  'user-not-allowed': {
    status: 403,
    title: 'User not allowed',
    meaning:
      '`openIds` of the key does not list the `openId` of the request, the payout or the receiving account, or there is no `openId`.',
    action: CHANGE_KEY,
  },
  'batch-not-allowed': {
    status: 403,
    title: 'Batch not allowed',
    meaning:
      'The key is limited to clients, payers or users, and another caller started the batch, which may contain rows of others.',
    action: CHANGE_KEY,
  },
  'list-not-allowed': {
    status: 403,
    title: 'List not allowed',
    meaning:
      'The key is limited to clients, payers or users. Lists come from the visibility store, which does not contain them.',
    action: 'Read payouts by their ids, or use a key without such a limit.',
  },
  'own-payout': {
    status: 403,
    title: 'Own payout',
    meaning: 'The caller who started a payout cannot approve it or resolve its review.',
    action: 'Decide with the key of another caller.',
  },
  'form-not-accepted': {
    status: 403,
    title: 'Form not accepted',
    meaning:
      'The form of the desk was not sent from a page of this session: the session may have ended meanwhile. Nothing was done.',
    action: 'Open the page again, and send its form.',
  },
  'user-not-named': {
    status: 403,
    title: 'User not named',
    meaning:
      'The desk accepts users from the proxies in `PAYOUTS_API_PROXIES` only, which name them in `PAYOUTS_DESK_USER_HEADER`.',
    action: 'Open the desk through the proxy. If you did, check both settings.',
  },
  'user-not-listed': {
    status: 403,
    title: 'User not listed',
    meaning: 'No caller in `PAYOUTS_API_KEYS_FILE` lists the user whom the proxy names.',
    action: 'Add the user to `users` of a caller.',
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    meaning: 'There is no such payout, batch, account, request or application.',
    action: CHECK_ID,
  },
  'route-not-found': {
    status: 404,
    title: 'Route not found',
    meaning: 'There is no such route.',
    action: 'Check the method and the path: `/docs` lists the routes.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    meaning: "The route of a user's browser takes only GET. Nothing was done.",
    action: 'Send a GET.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request timeout',
    meaning: 'The request did not arrive within 10 s.',
    action: 'Send it again.',
  },
  'id-conflict': {
    status: 409,
    title: 'Id conflict',
    meaning: 'The id belongs to another body, or to a batch of another caller. Nothing was started.',
    action: 'Send the first body again. A new id makes another payment.',
  },
  'not-accepted-now': {
    status: 409,
    title: 'Not accepted now',
    meaning: 'The update is not accepted in the current state. `detail` says why. Nothing was changed.',
    action: 'Read the state, then decide again.',
  },
  'already-ended': {
    status: 409,
    title: 'Already ended',
    meaning: 'The payout, batch or request has ended. Nothing was changed.',
    action: 'Read the state.',
  },
  'start-rejected': {
    status: 409,
    title: 'Start rejected',
    meaning: 'A worker rejected the start as bad input. `errors` names every invalid field.',
    action: 'Correct the fields, and start again under the same id.',
  },
  'content-too-large': {
    status: 413,
    title: 'Content too large',
    meaning: 'The body exceeds the limit of the route.',
    action: 'Split the batch, or send it as NDJSON or CSV.',
  },
  'uri-too-long': {
    status: 414,
    title: 'URI too long',
    meaning: 'A path parameter exceeds 1,000 characters.',
    action: 'Check the id.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The route does not accept this `content-type`.',
    action: 'Send `application/json`, or NDJSON or CSV for a batch.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    meaning:
      'The address sent too many invalid requests, unknown keys or notifications, or an order had too many notifications. Nothing was done.',
    action: 'Send it again after `retry-after` seconds.',
  },
  'request-limit-exceeded': {
    status: 429,
    title: 'Request limit exceeded',
    meaning:
      'The key exceeds its `requestsPerSecond`, or `PAYOUTS_API_REQUESTS_PER_SECOND`, in this API server. Nothing was done.',
    action:
      'Send it again after `retry-after` seconds. If it recurs, send fewer requests, use `wait` instead of repeated reads, or raise the limit of the key.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Headers too large',
    meaning: 'The headers exceed 16 KiB.',
    action: 'Send fewer or shorter headers.',
  },
  'unexpected-error': {
    status: 500,
    title: 'Unexpected error',
    meaning: 'The API server failed unexpectedly. The request may have been executed.',
    action: "Read the API server's log. Read the state, or send the request again.",
  },
  'provider-unavailable': {
    status: 502,
    title: 'Provider unavailable',
    meaning: 'A worker called the provider and got no usable answer in time.',
    action: 'Send it again later. `npm run payouts -- doctor` checks whether the provider answers.',
  },
  'shutting-down': {
    status: 503,
    title: 'Shutting down',
    meaning: 'This API server is about to end. Only the readiness check returns this.',
    action: 'Nothing: the load balancer sends requests elsewhere.',
  },
  'temporal-unavailable': {
    status: 503,
    title: 'Temporal unavailable',
    meaning:
      'Temporal or a worker did not respond within 10 s (30 s if the provider is needed). The request may have been executed.',
    action: 'Send the same request again after `retry-after` seconds.',
  },
  'too-many-waiting': {
    status: 503,
    title: 'Too many waiting requests',
    meaning: 'Too many requests of this kind wait in this API server. Nothing was done.',
    action: 'Send the same request again after `retry-after` seconds.',
  },
  'notification-not-delivered': {
    status: 503,
    title: 'Notification not delivered',
    meaning: 'The notification could not be passed on to Temporal.',
    action: 'Send it again after `retry-after` seconds.',
  },
  'authorization-not-configured': {
    status: 501,
    title: 'Authorization not configured',
    meaning: 'This API server has no `PAYOUTS_AUTHORIZATION_KEYS`, so it authorizes no users.',
    action: 'Give API servers and workers the same `PAYOUTS_AUTHORIZATION_KEYS`.',
  },
  'authorization-in-progress': {
    status: 504,
    title: 'Authorization in progress',
    meaning: 'The exchange of an authorization code continues.',
    action: 'Start the authorization again only if it is still missing after a minute.',
  },
} as const satisfies Record<string, ProblemKindInfo>;

export type ProblemKind = keyof typeof PROBLEMS;

export const PROBLEM_KINDS: readonly ProblemKind[] = codesOf(PROBLEMS);

export type ProblemType = `/problems/${ProblemKind}`;

/** The `type` of a problem: a URI reference, relative to the API server. Stable. */
export function problemType(kind: ProblemKind): ProblemType {
  return `/problems/${kind}`;
}

const fileLine = z.int().describe('the line at which the row of a file begins, from 1');

export const problemSchema = z.strictObject({
  type: z
    .enum(PROBLEM_KINDS.map(problemType))
    .describe('a URI reference, relative to the API server, which serves a page about it'),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z
    .array(z.strictObject({ path: z.string(), message: z.string(), line: fileLine.exactOptional() }))
    .exactOptional()
    .describe('every bad field, of the kinds invalid-request and start-rejected'),
});

export type ProblemDocument = z.output<typeof problemSchema>;
