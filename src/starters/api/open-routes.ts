/** What stands on the server beside the operations. */
import type { Verb } from '../../config/callers.ts';

/** The routes beside the operations, as the OpenAPI document lists them. Without `verb` they want no key. */
export interface OpenRoute {
  method: 'GET' | 'POST';
  path: string;
  verb?: Verb;
  summary: string;
  answers: Readonly<Record<number, string>>;
}

export const OPEN_ROUTES: readonly OpenRoute[] = [
  {
    method: 'POST',
    path: '/v1/notifications/{app}',
    summary: 'What the payments service calls; verified by the scheme that is set',
    answers: { 202: 'Temporal has it, or nobody knows it yet', 401: 'not verified', 503: 'send it again' },
  },
  {
    method: 'GET',
    path: '/v1/oauth/{app}/authorize',
    summary: "Sends a user's browser to the provider's page",
    answers: { 302: 'to that page', 503: 'too many at once, or no worker answers: try again' },
  },
  {
    method: 'GET',
    path: '/v1/oauth/{app}/callback',
    summary: 'Where that page sends the browser back to',
    answers: {
      200: 'access is granted',
      400: 'it is not; the page says why',
      502: 'nobody knows, or the tokens could not be stored: begin again',
      503: 'too many at once, or no worker answers: open the same address again',
      504: 'the exchange goes on',
    },
  },
  {
    method: 'GET',
    path: '/healthz',
    summary: 'This process lives',
    answers: { 200: 'it does' },
  },
  {
    method: 'GET',
    path: '/readyz',
    summary: 'It reaches Temporal',
    answers: { 200: 'it does', 503: 'it does not' },
  },
  {
    method: 'GET',
    path: '/metrics',
    verb: 'metrics',
    summary: 'What this process counts of itself, for Prometheus',
    answers: { 200: "Prometheus' text format", 401: 'no key, or an unknown one', 403: 'not for this key' },
  },
  { method: 'GET', path: '/openapi.json', summary: 'This document', answers: { 200: 'OpenAPI 3.1' } },
  { method: 'GET', path: '/docs', summary: 'This document, for people', answers: { 200: 'a page' } },
];
