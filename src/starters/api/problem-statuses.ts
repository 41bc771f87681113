/** The statuses of problem documents. `docs/reference.md` is generated from this table. */
import type { Explained } from '../../domain/attention-codes.ts';

export interface ProblemStatus extends Explained {
  /** The document's `title`. */
  title: string;
}

export const PROBLEM_STATUSES: Readonly<Record<number, ProblemStatus>> = {
  400: {
    title: 'Bad request',
    meaning: 'The request is invalid. `errors` names every invalid field; of a batch, the first hundred.',
    action: 'Correct the request. Nothing was done.',
  },
  401: {
    title: 'Unauthorized',
    meaning: 'The bearer key is missing or unknown. For a notification: it was not verified.',
    action: 'Send a key that `PAYOUTS_API_KEYS_FILE` lists.',
  },
  403: {
    title: 'Forbidden',
    meaning:
      'The key does not allow the verb, application or amount, or its caller started the payout that it wants to approve.',
    action: 'Use another key, or change this one in `PAYOUTS_API_KEYS_FILE`.',
  },
  404: {
    title: 'Not found',
    meaning: 'There is no such payout, batch, account, application or route.',
    action: 'Check the id and `app`.',
  },
  408: {
    title: 'Request timeout',
    meaning: 'The request did not arrive within 10 s.',
    action: 'Send it again.',
  },
  409: {
    title: 'Conflict',
    meaning: 'The id belongs to another body, the update is not accepted now, or the start was bad input.',
    action: 'Read the state of the payout. Do not repeat the request unchanged.',
  },
  413: {
    title: 'Content too large',
    meaning: 'The body exceeds the limit of the route.',
    action: 'Split the batch, or send it as NDJSON.',
  },
  414: {
    title: 'URI too long',
    meaning: 'A path parameter exceeds 1,000 characters.',
    action: 'Check the id.',
  },
  415: {
    title: 'Unsupported media type',
    meaning: 'The route does not accept this `content-type`.',
    action: 'Send `application/json`, or NDJSON for a batch.',
  },
  431: {
    title: 'Request header fields too large',
    meaning: 'The headers exceed 16 KiB.',
    action: 'Send fewer or shorter headers.',
  },
  500: {
    title: 'Internal server error',
    meaning: 'The API server failed unexpectedly.',
    action:
      "Read the API server's log: it names the cause with the `x-request-id` of the response. The request may have been executed: read the state, or send it again.",
  },
  502: {
    title: 'Bad gateway',
    meaning: 'A worker called the provider and got no usable answer in time.',
    action: 'Send it again later. `npm run payouts -- doctor` checks whether the provider answers.',
  },
  503: {
    title: 'Service unavailable',
    meaning:
      'Temporal or a worker did not respond within 10 s (30 s if the provider is needed), or too many requests wait. The request may have been executed.',
    action: 'Send the same request again after `retry-after` seconds.',
  },
  504: {
    title: 'Gateway timeout',
    meaning: 'The exchange of an authorization code continues.',
    action: 'Start the authorization again only if it is still missing after a minute.',
  },
};
