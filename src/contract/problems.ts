/** The problems of the API server (RFC 9457). It explains each at `/problems/KIND`. */

import { z } from 'zod';
import { codesOf, type Explained } from './attention-codes.ts';

const CHANGE_KEY = 'Use another key, or change this one.';
const SEND_LATER = 'Retry after `retry-after` seconds.';

const ROWS = {
  'invalid-request': {
    status: 400,
    meaning: "`errors` has every invalid field, or a batch's first hundred.",
    action: 'Correct the fields.',
  },
  'malformed-request': {
    status: 400,
    meaning: "The URL or body can't be parsed, or repeats a key, parameter or header. Nothing was done.",
    action: 'Correct what `detail` names. A JSON body is UTF-8, without duplicate keys.',
  },
  'notification-unusable': {
    status: 400,
    meaning: "The notification can't be parsed, or contains no order ID.",
    action: 'Set `PAYMENTS_NOTIFICATION_FIELDS`.',
  },
  'key-missing': {
    status: 401,
    meaning: 'The request has no bearer key.',
    action: 'Send `authorization: Bearer KEY`.',
  },
  'key-unknown': {
    status: 401,
    meaning: "The bearer key isn't in `PAYOUTS_API_KEYS_FILE`, or was removed from it.",
    action: 'Send a key that the file lists.',
  },
  'key-expired': {
    status: 401,
    meaning: 'The key has expired.',
    action: 'Send another key, or change `expiresAt` in `PAYOUTS_API_KEYS_FILE`.',
  },
  'notification-not-verified': {
    status: 401,
    meaning: "The notification's signature isn't valid.",
    action: 'Check `PAYMENTS_NOTIFICATION_VERIFIER` and its secrets.',
  },
  'verb-not-allowed': {
    status: 403,
    meaning: 'The key lacks the permission that the route requires.',
    action: CHANGE_KEY,
  },
  'application-not-allowed': {
    status: 403,
    meaning: "The key doesn't include the application.",
    action: CHANGE_KEY,
  },
  'amount-too-large': {
    status: 403,
    meaning: "`instructedAmount` exceeds the key's `largestAmount`, or isn't in one of its currencies.",
    action: CHANGE_KEY,
  },
  'outside-scope': {
    status: 403,
    meaning:
      'The key is limited by `clientIds`, `payerIds`, `openIds` or `idPrefix`, and the request names another. Without `idPrefix`, such a key lists nothing, and for it, what others have does not exist.',
    action: `Read payouts by their IDs. ${CHANGE_KEY}`,
  },
  'daily-limit-exceeded': {
    status: 403,
    meaning: "The payouts exceed the key's `dailyAmount` or `dailyCount` (UTC). Nothing was started.",
    action: `${SEND_LATER} Without \`retry-after\`, the payouts alone exceed the limit: raise it.`,
  },
  'own-payout': {
    status: 403,
    meaning: "The caller who started a payout can't approve it or resolve its review.",
    action: 'Decide with the key of another caller.',
  },
  'form-not-accepted': {
    status: 403,
    meaning: "The form isn't from this session, which may have expired. Nothing was done.",
    action: 'Reload the page, and send its form.',
  },
  'user-not-named': {
    status: 403,
    meaning:
      'Only a proxy of `PAYOUTS_DESK_PROXIES` that sends its secret can name a user, in `PAYOUTS_DESK_USER_HEADER`.',
    action:
      'Open the desk through the proxy. If you did, check these settings and `PAYOUTS_DESK_PROXY_SECRETS`.',
  },
  'user-not-listed': {
    status: 403,
    meaning: 'No caller in `PAYOUTS_API_KEYS_FILE` lists this user, or a role of theirs.',
    action: 'Add the user to `users`, or a role to `roles`, of a caller.',
  },
  'sign-in-not-accepted': {
    status: 403,
    meaning:
      "The identity provider's response isn't the one to this browser's sign-in. Nobody was signed in.",
    action: 'Sign in again.',
  },
  'not-found': {
    status: 404,
    meaning: 'There is no such payout, batch, account, request or application.',
    action: 'Check the ID and `app`.',
  },
  'route-not-found': {
    status: 404,
    meaning: 'There is no such route.',
    action: 'Look up the route at `/docs`.',
  },
  'method-not-allowed': {
    status: 405,
    meaning: "The route of a user's browser takes only GET. Nothing was done.",
    action: 'Send a GET.',
  },
  'request-timeout': {
    status: 408,
    meaning: "The request didn't arrive within 10 s.",
    action: 'Send it again.',
  },
  'id-conflict': {
    status: 409,
    meaning: 'The ID belongs to another body, or to a batch of another caller. Nothing was started.',
    action: 'Send the first body again. A new ID makes another payment.',
  },
  'not-accepted-now': {
    status: 409,
    meaning: "The current state doesn't allow this. `detail` says why. Nothing was changed.",
    action: 'Read the state, then decide again.',
  },
  'already-ended': {
    status: 409,
    meaning: 'It has finished. Nothing was changed.',
    action: 'Read the state.',
  },
  'start-rejected': {
    status: 409,
    meaning: 'A worker rejected the start. `errors` has every invalid field.',
    action: 'Correct the fields, and start again under the same ID.',
  },
  'content-too-large': {
    status: 413,
    meaning: 'The body exceeds the limit of the route.',
    action: 'Split the batch, or send it as NDJSON or CSV.',
  },
  'uri-too-long': {
    status: 414,
    meaning: 'A path parameter exceeds 1,000 characters.',
    action: 'Check the ID.',
  },
  'unsupported-media-type': {
    status: 415,
    meaning: "The route doesn't accept this `content-type`.",
    action: 'Send `Content-Type: application/json`, or NDJSON or CSV for a batch.',
  },
  'too-many-requests': {
    status: 429,
    meaning: 'The address sent too many invalid requests, unknown keys or notifications. Nothing was done.',
    action: SEND_LATER,
  },
  'request-limit-exceeded': {
    status: 429,
    meaning: 'The key exceeds `requestsPerSecond` or `PAYOUTS_API_REQUESTS_PER_SECOND`. Nothing was done.',
    action: `${SEND_LATER} Use \`wait\` instead of repeated reads, or raise the limit.`,
  },
  'headers-too-large': {
    status: 431,
    meaning: 'The headers exceed 16 KiB.',
    action: 'Send fewer or shorter headers.',
  },
  'unexpected-error': {
    status: 500,
    meaning: 'The API server failed. The request may have been executed.',
    action: "Read the API server's log. Read the state, or send the request again.",
  },
  'provider-unavailable': {
    status: 502,
    meaning: 'A worker called the provider and got no usable response in time.',
    action: 'Send it again later. `payouts doctor` checks whether the provider responds.',
  },
  'shutting-down': {
    status: 503,
    meaning: 'This API server is stopping. Only the readiness check returns this.',
    action: 'Nothing: the load balancer sends requests elsewhere.',
  },
  'temporal-unavailable': {
    status: 503,
    meaning: "Temporal or a worker didn't respond in time. The request may have been executed.",
    action: SEND_LATER,
  },
  'no-worker': {
    status: 503,
    meaning: 'No worker is running. `detail` says when one was last seen. Nothing was changed.',
    action: `Start a worker. If one runs, read its log: it may be overloaded. ${SEND_LATER}`,
  },
  'identity-provider-unavailable': {
    status: 503,
    meaning: "The identity provider of the desk didn't respond in time. Nobody was signed in.",
    action: SEND_LATER,
  },
  'too-many-waiting': {
    status: 503,
    meaning: 'Too many such requests are waiting. Nothing was done.',
    action: SEND_LATER,
  },
  'notification-not-delivered': {
    status: 503,
    meaning: "The notification couldn't be passed on to Temporal.",
    action: SEND_LATER,
  },
  'authorization-not-configured': {
    status: 501,
    meaning: 'This API server has no `PAYOUTS_AUTHORIZATION_KEYS`.',
    action: "Give it the workers' `PAYOUTS_AUTHORIZATION_KEYS`.",
  },
  'authorization-in-progress': {
    status: 504,
    meaning: 'The authorization code is still being exchanged.',
    action: "Authorize again only if it's still missing after a minute.",
  },
} as const satisfies Record<string, Explained & { status: number }>;

export type ProblemKind = keyof typeof ROWS;
export const PROBLEM_KINDS: readonly ProblemKind[] = codesOf(ROWS);

/** `title`: of the document. */
export const PROBLEMS = Object.fromEntries(
  PROBLEM_KINDS.map((kind) => [kind, { ...ROWS[kind], title: titleOf(kind) }]),
) as Readonly<Record<ProblemKind, Explained & { status: number; title: string }>>;

function titleOf(kind: ProblemKind): string {
  const words = kind.replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The `type` of a problem: a URI reference, relative to the API server. Stable. */
export function problemType(kind: ProblemKind): `/problems/${ProblemKind}` {
  return `/problems/${kind}`;
}

export const problemSchema = z.strictObject({
  type: z
    .enum(PROBLEM_KINDS.map(problemType))
    .describe('A URI reference, relative to the API server, which serves a page about it'),
  title: z.string().describe('The kind of problem in words'),
  status: z.int().describe('The HTTP status'),
  detail: z.string().describe('What is wrong with this request, in words'),
  errors: z
    .array(
      z.strictObject({
        path: z.string(),
        message: z.string(),
        line: z.int().exactOptional().describe('The line at which the row of a file begins, from 1'),
      }),
    )
    .exactOptional()
    .describe('Every bad field, of the kinds invalid-request and start-rejected'),
});

export type ProblemDocument = z.output<typeof problemSchema>;
