/** The routes besides the operations, for the OpenAPI document. */
import type { Verb } from '../../config/callers.ts';

export interface OpenRoute {
  method: 'GET' | 'POST';
  path: string;
  /** Absent if the route requires no key. */
  verb?: Verb;
  summary: string;
  answers: Readonly<Record<number, string>>;
}

export const OPEN_ROUTES: readonly OpenRoute[] = [
  {
    method: 'POST',
    path: '/v1/notifications/{app}',
    summary: 'Receive a notification of the provider. Verified by the configured scheme',
    answers: {
      202: 'delivered, or kept for two minutes until its payout is known',
      400: 'no notification, or the query names an application',
      401: 'not verified',
      429: 'too many from this address, or about this order',
      503: 'send it again',
    },
  },
  {
    method: 'GET',
    path: '/v1/oauth/{app}/authorize',
    summary:
      "Redirect a user's browser to the provider's authorization page. `link` is that of `POST /v1/authorizations`",
    answers: {
      302: 'to that page',
      400: 'the link was already used, has expired or is invalid, or the query names an application',
      429: 'too many invalid requests from this address',
      503: 'too many requests, or no worker responds: try again',
    },
  },
  {
    method: 'GET',
    path: '/v1/oauth/{app}/callback',
    summary: 'The redirect URI of that page',
    answers: {
      200: 'access is granted',
      400: 'access is not granted; the page says why',
      429: 'too many invalid requests from this address',
      502: 'the result is unknown, or the tokens could not be stored: start again',
      503: 'too many requests, or no worker responds: open the same link again',
      504: 'the exchange continues',
    },
  },
  { method: 'GET', path: '/healthz', summary: 'Liveness', answers: { 200: 'the process runs' } },
  {
    method: 'GET',
    path: '/readyz',
    summary: 'Readiness',
    answers: {
      200: 'the namespace in Temporal can be used. Checked at most once per second',
      503: 'Temporal or the namespace cannot be used, or the process is about to end',
    },
  },
  {
    method: 'GET',
    path: '/metrics',
    verb: 'metrics',
    summary: 'Metrics for Prometheus',
    answers: { 200: 'text format', 401: 'the key is missing or unknown', 403: 'the key lacks the verb' },
  },
  { method: 'GET', path: '/openapi.json', summary: 'This document', answers: { 200: 'OpenAPI 3.1' } },
  { method: 'GET', path: '/docs', summary: 'This document as a page', answers: { 200: 'HTML' } },
  { method: 'GET', path: '/problems', summary: 'The kinds of problems as a page', answers: { 200: 'HTML' } },
  {
    method: 'GET',
    path: '/problems/{kind}',
    summary: 'What a problem means and what to do: the page that `type` of a problem document names',
    answers: { 200: 'HTML', 404: 'no such kind of problem' },
  },
];
