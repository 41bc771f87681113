/** The routes besides the operations, for the OpenAPI document. */
import { z } from 'zod';
import type { Verb } from '../../config/callers.ts';

export interface Content {
  type: string;
  /** Default: text. */
  schema?: z.ZodType;
}

interface Answer extends Partial<Content> {
  description: string;
}

export interface OpenRoute {
  method: 'GET' | 'POST';
  path: string;
  /** Absent if the route requires no key. */
  verb?: Verb;
  summary: string;
  query?: z.ZodObject;
  body?: Content;
  answers: Readonly<Record<number, Answer>>;
  /** Answers with a problem document. */
  problems?: Readonly<Record<number, string>>;
}

const JSON_TYPE = 'application/json';

const page = (description: string): Answer => ({ description, type: 'text/html' });

const id = (description: string) => z.string().optional().describe(description);

/** The spellings of the specification. PAYMENTS_NOTIFICATION_FIELDS names others. */
const notificationBody = z
  .looseObject({
    orderId: id("the provider's id of the order; also order_id"),
    partnerOrderId: id('the id that the create named; also partner_order_id, outOrderId and out_order_id'),
    status: id('the status. It decides nothing: the payout queries the provider'),
  })
  .describe(
    'At least one id is required: at the top, in `data`, in `receiver` or in `data.receiver`. `PAYMENTS_NOTIFICATION_FIELDS` names other places. All other fields are ignored',
  );

const received = z.strictObject({ received: z.enum(['delivered', 'ended', 'unknown']) });

const health: Content = {
  type: JSON_TYPE,
  schema: z.strictObject({ status: z.literal('ok').describe('always ok') }),
};

const NO_APPLICATION = 'no such application';

export const OPEN_ROUTES: readonly OpenRoute[] = [
  {
    method: 'POST',
    path: '/v1/notifications/{app}',
    summary:
      'Receive a notification of the provider. Verified by the configured scheme. The content type does not matter',
    body: { type: JSON_TYPE, schema: notificationBody },
    answers: {
      202: {
        description:
          'delivered, or kept for two minutes until its payout is known. `PAYMENTS_NOTIFICATION_RECEIPT` replaces this response',
        type: JSON_TYPE,
        schema: received,
      },
    },
    problems: {
      400: 'no notification, or the query names an application',
      401: 'not verified',
      404: 'not a valid application name',
      408: 'the request did not arrive within 10 s',
      413: 'the body exceeds 64 KiB',
      429: 'too many from this address, or about this order',
      503: 'send it again',
    },
  },
  {
    method: 'GET',
    path: '/v1/oauth/{app}/authorize',
    summary:
      "Redirect a user's browser to the provider's authorization page. `link` is that of `POST /v1/authorizations`",
    query: z.object({ link: z.string().max(256).describe('from `POST /v1/authorizations`') }),
    answers: { 302: { description: 'to that page' } },
    problems: {
      400: 'the link was already used, has expired or is invalid, or the query names an application',
      404: NO_APPLICATION,
      429: 'too many invalid requests from this address',
      503: 'too many requests, or no worker responds: try again',
    },
  },
  {
    method: 'GET',
    path: '/v1/oauth/{app}/callback',
    summary: 'The redirect URI of that page',
    query: z.object({
      state: z.string().max(512).describe('the state of the attempt, from the link of `authorize`'),
      code: z.string().max(2_048).optional().describe('the authorization code; absent if the user refused'),
    }),
    answers: {
      200: page('access is granted'),
      400: page('access is not granted; the page says why'),
      502: page('the result is unknown, or the tokens could not be stored: start again'),
    },
    problems: {
      404: NO_APPLICATION,
      429: 'too many invalid requests from this address',
      503: 'too many requests, or no worker responds: open the same link again',
      504: 'the exchange continues',
    },
  },
  {
    method: 'GET',
    path: '/healthz',
    summary: 'Liveness',
    answers: { 200: { description: 'the process runs', ...health } },
  },
  {
    method: 'GET',
    path: '/readyz',
    summary: 'Readiness',
    answers: {
      200: {
        description: 'the namespace in Temporal can be used. Checked at most once per second',
        ...health,
      },
    },
    problems: { 503: 'Temporal or the namespace cannot be used, or the process is about to end' },
  },
  {
    method: 'GET',
    path: '/metrics',
    verb: 'metrics',
    summary: 'Metrics for Prometheus',
    answers: { 200: { description: 'text format', type: 'text/plain' } },
    problems: {
      401: 'the key is missing, unknown or expired',
      403: 'the key lacks the verb',
      429: 'too many unknown keys from this address',
    },
  },
  {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1', type: JSON_TYPE, schema: z.looseObject({}) } },
  },
  { method: 'GET', path: '/docs', summary: 'This document as a page', answers: { 200: page('HTML') } },
  {
    method: 'GET',
    path: '/problems',
    summary: 'The kinds of problems as a page',
    answers: { 200: page('HTML') },
  },
  {
    method: 'GET',
    path: '/problems/{kind}',
    summary: 'What a problem means and what to do: the page that `type` of a problem document names',
    answers: { 200: page('HTML') },
    problems: { 404: 'no such kind of problem' },
  },
];
