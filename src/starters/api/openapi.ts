/** The OpenAPI document, generated from the schemas that validate requests. */
import { z } from 'zod';
import { codesOf, PAYOUT_ATTENTION, RECEIVING_ACCOUNT_ATTENTION } from '../../contract/attention-codes.ts';
import {
  EVENT_TYPES,
  type EventType,
  REASON_CODES,
  RECEIVING_ACCOUNT_REASON_CODES,
} from '../../contract/codes.ts';
import { eventSchema, meaningOf } from '../../contract/events.ts';
import { descriptionOf, jsonSchema } from '../../contract/json-schema.ts';
import { payoutResultSchema, payoutStateSchema } from '../../contract/payout.ts';
import { payoutRequestSchema } from '../../contract/payout-request.ts';
import { PROBLEM_KINDS, PROBLEMS, problemSchema, problemType } from '../../contract/problems.ts';
import {
  receivingAccountRequestSchema,
  receivingAccountResultSchema,
  receivingAccountStateSchema,
} from '../../contract/receiving-account.ts';
import { type Content, OPEN_ROUTES, type OpenRoute } from './open-routes.ts';
import { empty, type Operation } from './operation.ts';

const NAMED = {
  PayoutRequest: payoutRequestSchema,
  PayoutState: payoutStateSchema,
  PayoutResult: payoutResultSchema,
  ReceivingAccountRequest: receivingAccountRequestSchema,
  ReceivingAccountState: receivingAccountStateSchema,
  ReceivingAccountResult: receivingAccountResultSchema,
  Problem: problemSchema,
  ...{
    ReasonCode: codes(REASON_CODES, 'why a payout has no payment: `reason.code` of a result'),
    ReceivingAccountReasonCode: codes(RECEIVING_ACCOUNT_REASON_CODES, 'why no receiving account was opened'),
    PayoutAttentionCode: codes(codesOf(PAYOUT_ATTENTION), 'why a payout needs attention: `reasons[].code`'),
    ReceivingAccountAttentionCode: codes(
      codesOf(RECEIVING_ACCOUNT_ATTENTION),
      'why a receiving account request needs attention',
    ),
  },
};

function codes<const Code extends string>(all: readonly Code[], description: string) {
  return z.enum(all).describe(`${description}. The codes are stable: docs/reference.md explains them`);
}
const REQUEST_ID = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };
const RETRY_AFTER = { 'retry-after': { $ref: '#/components/headers/RetryAfter' } };
/** Every problem with these statuses says when to send the request again. */
const REPEATABLE = [429, 503];

export interface DocumentedOperation {
  summary: string;
  operationId: string;
  description?: string;
  security?: { bearer: never[] }[];
  parameters: {
    name: string;
    in: 'path' | 'query';
    required: boolean;
    description?: string;
    schema: unknown;
  }[];
  requestBody?: { required: boolean; content: Record<string, { schema: unknown }> };
  responses: Record<
    string,
    { description: string; headers: unknown; content?: Record<string, { schema: unknown }> }
  >;
}

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

export function openApiDocument(operations: readonly Operation[]) {
  const paths: Record<string, Record<string, DocumentedOperation>> = {};
  for (const one of operations)
    paths[one.path] = { ...paths[one.path], [one.method.toLowerCase()]: documented(one) };
  for (const one of OPEN_ROUTES) paths[one.path] = { [one.method.toLowerCase()]: documentedRoute(one) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'durable-payouts',
      version: '1.0.0',
      description:
        'Cross-border payouts. Every request can be repeated. Errors are RFC 9457 problem documents.',
    },
    servers: [{ url: '/', description: 'The API server that serves this document' }],
    paths,
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: documentedEvent(type) }])),
    components: {
      schemas: Object.fromEntries(
        Object.entries(NAMED).map(([name, schema]) => [
          name,
          withoutDialect(schema, name.endsWith('Request') ? 'input' : 'output', name),
        ]),
      ),
      headers: {
        RequestId: {
          description:
            'The `x-request-id` of the request, if it has 1 to 64 of the characters A-Z, a-z, 0-9, `.`, `_` and `-`; else a generated one. The audit trail contains it.',
          schema: { type: 'string' },
        },
        RetryAfter: {
          description: 'After how many seconds the same request may be sent again.',
          schema: { type: 'integer', minimum: 1 },
        },
      },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** Standard Webhooks. Workers send it; the receiver is the caller's. */
function documentedEvent(type: EventType) {
  return {
    summary: meaningOf(type),
    operationId: type.replaceAll(/[._]([a-z])/g, (_all, letter: string) => letter.toUpperCase()),
    parameters: Object.entries(EVENT_HEADERS).map(([name, description]) => ({
      ...{ name, in: 'header', required: true, description, schema: { type: 'string' } },
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: withoutDialect(eventSchema(type), 'output', type) } },
    },
    responses: {
      '2XX': { description: 'The event is delivered. Any other answer repeats it for up to three days.' },
      410: { description: 'The endpoint is gone: it gets no further events until an operator enables it.' },
    },
  };
}

const EVENT_HEADERS = {
  'webhook-id': 'The id of the event, the same for every delivery: ignore an id that you have processed.',
  'webhook-timestamp': 'When this attempt was made. Unix seconds.',
  'webhook-signature':
    'One signature for each current secret, separated by spaces: `v1,` with HMAC-SHA256 or `v1a,` with Ed25519, in base64.',
};

function documented(one: Operation): DocumentedOperation {
  const { status, description, schema } = one.response;
  const problems = {
    400: 'invalid; errors names every invalid field',
    401: 'the key is missing, unknown or expired',
    403: 'the key does not allow this',
    408: 'the request did not arrive within 10 s',
    ...(one.method === 'POST' && {
      413: 'the body is too large',
      415: 'the content-type is not accepted',
    }),
    414: 'a path parameter is too long',
    429: 'the key has sent too many requests, or the address too many unknown keys',
    431: 'the headers exceed 16 KiB',
    500: 'unexpected; the request may have been executed',
    ...one.problems,
    503: 'Temporal or a worker does not respond; send the same request again',
  };
  return {
    summary: one.summary,
    ...securityOf(one.verb),
    operationId: operationId(one.method, one.path),
    parameters: [
      ...parameters(one.params, 'path'),
      ...parameters(one.query, 'query'),
      ...fileParameters(one),
    ],
    ...(one.body instanceof z.ZodUndefined ? {} : { requestBody: requestBody(one) }),
    responses: {
      [status]: {
        description,
        headers: REQUEST_ID,
        content: { 'application/json': { schema: refOrSchema(schema, 'output') } },
      },
      ...Object.fromEntries(
        Object.entries(problems).map(([code, what]) => [code, problem(Number(code), what)]),
      ),
    },
  };
}

function documentedRoute({ method, path, verb, summary, ...route }: OpenRoute): DocumentedOperation {
  const { answers, problems = {}, body } = route;
  return {
    summary,
    ...(verb && securityOf(verb)),
    operationId: operationId(method, path),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
        const schema = { type: 'string', description: descriptionOf('', name) };
        return { ...{ name, in: 'path' as const, required: true, schema } };
      }),
      ...parameters(route.query ?? empty, 'query'),
    ],
    ...(body && { requestBody: { required: true, content: contentOf(body, 'input') } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, { description, ...content }]) => [
          status,
          {
            description,
            headers: REQUEST_ID,
            ...(content.type && { content: contentOf(content, 'output') }),
          },
        ]),
      ),
      ...Object.fromEntries(
        Object.entries(problems).map(([status, what]) => [status, problem(Number(status), what)]),
      ),
    },
  };
}

function contentOf({ type, schema = z.string() }: Partial<Content>, io: 'input' | 'output') {
  return { [type ?? 'application/json']: { schema: withoutDialect(schema, io, 'accepted') } };
}

function securityOf(verb: string): Pick<DocumentedOperation, 'description' | 'security'> {
  return { description: `Requires a key with the verb \`${verb}\`.`, security: [{ bearer: [] }] };
}

/** Lists the types that the status may have. */
function problem(status: number, description: string) {
  const types = PROBLEM_KINDS.filter((kind) => PROBLEMS[kind].status === status).map(problemType);
  const type = { enum: types, description: descriptionOf('', 'type') };
  const schema = { allOf: [refTo('Problem'), { properties: { type } }] };
  const headers = { ...REQUEST_ID, ...(REPEATABLE.includes(status) && RETRY_AFTER) };
  return { description, headers, content: { 'application/problem+json': { schema } } };
}

function requestBody({ body, file }: Operation): NonNullable<DocumentedOperation['requestBody']> {
  return {
    required: !body.safeParse(undefined).success,
    content: {
      'application/json': { schema: refOrSchema(body, 'input', 'body') },
      ...(file && {
        'application/x-ndjson': { schema: refTo('PayoutRequest') },
        'text/csv': {
          schema: { type: 'string', description: 'The columns are the fields of PayoutRequest by path' },
        },
      }),
    },
  };
}

function parameters(shape: z.ZodObject, place: 'path' | 'query'): DocumentedOperation['parameters'] {
  return Object.entries(shape.shape).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || !z.safeParse(schema, undefined).success,
    schema: withoutDialect(z.object({ [name]: schema }), 'input').properties?.[name] ?? {},
  }));
}

/** The other body has these fields itself, and takes no query. */
function fileParameters({ file }: Operation): DocumentedOperation['parameters'] {
  return parameters(file?.query ?? empty, 'query').map((one) => ({
    ...one,
    required: false,
    description: `Only for a body in NDJSON or CSV${one.required ? ', where it is required' : ''}`,
  }));
}

function refOrSchema(schema: z.ZodType, io: 'input' | 'output', at = ''): unknown {
  const name = Object.entries(NAMED).find(([, named]) => named === schema)?.[0];
  return name === undefined ? withoutDialect(schema, io, at) : refTo(name);
}

function refTo(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

/** Without `$schema`: it is the default dialect of OpenAPI 3.1. */
function withoutDialect(schema: z.ZodType, io: 'input' | 'output', name = '') {
  const { $schema: _dialect, ...rest } = jsonSchema(schema, io, name);
  return rest;
}

/** `POST /v1/payouts/{partnerOrderId}/approve` is `postPayoutsPartnerOrderIdApprove`. */
function operationId(method: string, path: string): string {
  const words = path.replace(/^\/v1/, '').match(/[A-Za-z]+/g) ?? [];
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
