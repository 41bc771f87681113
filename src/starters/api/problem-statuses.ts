/** The statuses of problem documents. `docs/reference.md` is written from this table. */
import type { Explained } from '../../domain/attention-codes.ts';

export interface ProblemStatus extends Explained {
  /** The document's `title`. */
  title: string;
}

export const PROBLEM_STATUSES: Readonly<Record<number, ProblemStatus>> = {
  400: {
    title: 'Bad request',
    meaning: 'The request is not usable. `errors` names every bad field.',
    action: 'Correct the request. Nothing was done.',
  },
  401: {
    title: 'Unauthorised',
    meaning: 'There is no bearer key, or the key is unknown. For a notification: it was not verified.',
    action: 'Send a key that `PAYOUTS_API_KEYS_FILE` lists.',
  },
  403: {
    title: 'Forbidden',
    meaning:
      'The key lacks the verb, the application or the amount, or its caller started the payout that it wants to approve.',
    action: 'Use another key, or extend this one in `PAYOUTS_API_KEYS_FILE`.',
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
    meaning:
      'The id belongs to another body, the update is not accepted now, or the start was bad input. `detail` says which.',
    action: 'Do not repeat it unchanged. Look at the payout.',
  },
  413: {
    title: 'Content too large',
    meaning: 'The body is over the limit of the route.',
    action: 'Split the batch, or send it as NDJSON.',
  },
  414: {
    title: 'Address too long',
    meaning: 'A part of the path is over 1,000 characters.',
    action: 'Check the id.',
  },
  415: {
    title: 'Unsupported media type',
    meaning: 'The `content-type` is not one that the route takes.',
    action: 'Send `application/json`, or NDJSON for a batch.',
  },
  500: {
    title: 'Internal server error',
    meaning: 'The API server failed unexpectedly.',
    action:
      "Read the API server's log. Whether the request was done is unknown: look, or send the same again.",
  },
  502: {
    title: 'Bad gateway',
    meaning: 'A worker asked the provider and got no usable answer in time.',
    action: 'Try again later. `npm run payouts -- doctor` says whether the provider answers.',
  },
  503: {
    title: 'Service unavailable',
    meaning:
      'Temporal or a worker does not answer within 10 s (30 s where the provider is asked), or too many requests wait. Whether the request was done is unknown.',
    action: 'Send the same again after `retry-after` seconds.',
  },
  504: {
    title: 'Gateway timeout',
    meaning: 'The exchange of an authorization code goes on.',
    action: 'Begin the authorization again only if it is still missing after a minute.',
  },
};
