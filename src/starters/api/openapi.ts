/** The OpenAPI document, generated from the schemas that validate requests. */
import type { FastifyInstance, RouteOptions } from 'fastify';
import { z } from 'zod';
import { VERSION } from '../../config/version.ts';
import { codesOf, PAYOUT_ATTENTION, RECEIVING_ACCOUNT_ATTENTION } from '../../contract/attention-codes.ts';
import {
  EVENT_TYPES,
  type EventType,
  REASON_CODES,
  RECEIVING_ACCOUNT_REASON_CODES,
} from '../../contract/codes.ts';
import { eventSchema, meaningOf } from '../../contract/events.ts';
import { FIELDS, jsonSchema } from '../../contract/json-schema.ts';
import { payoutResultSchema, payoutStateSchema } from '../../contract/payout.ts';
import { payoutRequestSchema } from '../../contract/payout-request.ts';
import { PROBLEM_KINDS, PROBLEMS, problemSchema, problemType } from '../../contract/problems.ts';
import {
  receivingAccountRequestSchema,
  receivingAccountResultSchema,
  receivingAccountStateSchema,
} from '../../contract/receiving-account.ts';
import { empty, IDEMPOTENCY_KEY, type Response, zodOr } from './routes.ts';

const NAMED = {
  PayoutRequest: payoutRequestSchema,
  PayoutState: payoutStateSchema,
  PayoutResult: payoutResultSchema,
  ReceivingAccountRequest: receivingAccountRequestSchema,
  ReceivingAccountState: receivingAccountStateSchema,
  ReceivingAccountResult: receivingAccountResultSchema,
  Problem: problemSchema,
  ReasonCode: codes(REASON_CODES, 'why a payout has no payment: `reason.code` of a result'),
  ReceivingAccountReasonCode: codes(RECEIVING_ACCOUNT_REASON_CODES, 'why no receiving account was opened'),
  PayoutAttentionCode: codes(codesOf(PAYOUT_ATTENTION), 'why a payout needs attention: `reasons[].code`'),
  ReceivingAccountAttentionCode: codes(
    codesOf(RECEIVING_ACCOUNT_ATTENTION),
    'why a receiving account request needs attention',
  ),
};

function codes<const Code extends string>(all: readonly Code[], description: string) {
  return z.enum(all).describe(`${description}. The codes are stable: docs/reference.md explains them`);
}
const REQUEST_ID = {
  'x-request-id': {
    schema: { type: 'string' },
    description:
      'The `x-request-id` of the request, if it has 1 to 64 of the characters A-Z, a-z, 0-9, `.`, `_` and `-`; else a generated one. The audit trail contains it.',
  },
};
const RETRY_AFTER = {
  'retry-after': {
    schema: { type: 'integer', minimum: 1 },
    description: 'After how many seconds the same request may be sent again.',
  },
};
/** Every problem with these statuses says when to send the request again. */
const REPEATABLE = [429, 503];

export function namedSchemas(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(NAMED).map(([name, schema]) => [
      name,
      withoutDialect(schema, name.endsWith('Request') ? 'input' : 'output', name),
    ]),
  );
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The routes that have a summary. */
    documented: RouteOptions[];
  }
}

/** Documents the routes that are registered later and have a summary. */
export function documentRoutes(server: FastifyInstance): void {
  const documented: RouteOptions[] = [];
  server.decorate('documented', documented);
  server.addHook('onRoute', (route) => {
    if (route.schema?.summary !== undefined && route.method !== 'HEAD') documented.push(route);
  });
}

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** The document of a server that is ready. */
export function openApiDocument({ documented }: FastifyInstance) {
  const paths: Record<string, Record<string, ReturnType<typeof operation>>> = {};
  for (const route of documented) {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [String(route.method).toLowerCase()]: operation(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'durable-payouts',
      version: VERSION,
      description:
        'Cross-border payouts. Every request can be repeated. Errors are RFC 9457 problem documents.',
    },
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: namedSchemas(),
    },
    paths,
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: documentedEvent(type) }])),
  };
}

/** Standard Webhooks. Workers send it; the receiver is the caller's. */
function documentedEvent(type: EventType) {
  return {
    summary: meaningOf(type),
    operationId: type.replaceAll(/[._]([a-z])/g, (_all, letter: string) => letter.toUpperCase()),
    parameters: Object.entries(EVENT_HEADERS).map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: withoutDialect(eventSchema(type), 'output', type) } },
    },
    responses: {
      '2XX': { description: 'The event is delivered. Any other response repeats it for up to three days.' },
      410: { description: 'The endpoint is gone: it gets no further events until an operator enables it.' },
    },
  };
}

const EVENT_HEADERS = {
  'webhook-id': 'The ID of the event, the same for every delivery: ignore an ID that you have processed.',
  'webhook-timestamp': 'When this attempt was made. Unix seconds.',
  'webhook-signature':
    'One signature for each current secret, separated by spaces: `v1,` with HMAC-SHA256 or `v1a,` with Ed25519, in base64.',
};

const UNAVAILABLE = 'Temporal or a worker does not respond; send the same request again';

function commonProblems(method: string): Record<number, string> {
  return {
    400: 'invalid; errors names every invalid field',
    401: 'the key is missing, unknown or expired',
    403: 'the key does not allow this',
    408: 'the request did not arrive within 10 s',
    ...(method === 'POST' && {
      413: 'the body is too large',
      415: 'the content-type is not accepted',
    }),
    414: 'a path parameter is too long',
    429: 'the key has sent too many requests, or the address too many unknown keys',
    431: 'the headers exceed 16 KiB',
    500: 'unexpected; the request may have been executed',
    503: UNAVAILABLE,
  };
}

function operation({ method, url, schema = {}, config }: RouteOptions) {
  const { summary = '', params, querystring, body, fileQuery, responses = {}, problems, ownId } = schema;
  const verb = config?.verb;
  const common = verb !== undefined && url.startsWith('/v1/') ? commonProblems(String(method)) : {};
  const parameters = [
    ...parametersOf('query', fileQuery ?? zodOr(querystring, empty), fileQuery && FILE_ONLY),
    ...parametersOf('path', zodOr(params, pathOf(url))),
    ...(ownId === undefined ? [] : [idempotencyKey(ownId)]),
  ];
  return {
    operationId: operationId(String(method), url),
    summary,
    ...(verb !== undefined && {
      description: `Requires a key with the permission \`${verb}\`.`,
      security: [{ bearer: [] }],
    }),
    ...(parameters.length > 0 && { parameters }),
    ...(body instanceof z.ZodType &&
      !(body instanceof z.ZodUndefined) && {
        requestBody: {
          required: !body.safeParse(undefined).success,
          content: contentOf(body, fileQuery !== undefined),
        },
      }),
    responses: Object.fromEntries([
      ...Object.entries(responses).map(([status, one]) => [status, response(one)]),
      ...Object.entries({ ...common, ...problems }).map(([status, what]) => [
        status,
        problem(Number(status), what),
      ]),
    ]),
  };
}

/** A body in JSON has these fields itself, and takes no query. */
const FILE_ONLY = 'Only for a body in NDJSON or CSV';

/** `only`: when a query may have the parameters, instead of their own descriptions. */
function parametersOf(place: 'path' | 'query', schemas: z.ZodType, only?: string) {
  const { required = [], properties = {} } = withoutDialect(schemas, 'input');
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema }: { description?: unknown } = Object(property);
    const isRequired = required.includes(name);
    return {
      name,
      in: place,
      required: isRequired && only === undefined,
      description: only === undefined ? description : `${only}${isRequired ? ', where it is required' : ''}`,
      schema,
    };
  });
}

function idempotencyKey(ownId: string) {
  return {
    name: IDEMPOTENCY_KEY,
    in: 'header',
    required: false,
    description: `Unnecessary: \`${ownId}\` makes the request safe to repeat. If it is sent, it must equal \`${ownId}\`.`,
    schema: { type: 'string' },
  };
}

function pathOf(url: string): z.ZodObject {
  return z.object(
    Object.fromEntries([...url.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, z.string()])),
  );
}

function contentOf(body: z.ZodType, takesFiles: boolean) {
  return {
    'application/json': { schema: refOrSchema(body, 'input', 'body') },
    ...(takesFiles && {
      'application/x-ndjson': { schema: refTo('PayoutRequest') },
      'text/csv': {
        schema: { type: 'string', description: 'The columns are the fields of PayoutRequest by path' },
      },
    }),
  };
}

function response({
  description,
  schema,
  type = schema ? 'application/json' : undefined,
  others = [],
}: Response) {
  const content = type && {
    [type]: { schema: refOrSchema(schema ?? z.string(), 'output', 'accepted') },
    ...Object.fromEntries(others.map((other) => [other, { schema: { type: 'string' } }])),
  };
  return { description, headers: REQUEST_ID, ...(content && { content }) };
}

/** Lists the types that the status may have. */
function problem(status: number, description: string) {
  const types = PROBLEM_KINDS.filter((kind) => PROBLEMS[kind].status === status).map(problemType);
  const type = { enum: types, description: FIELDS['type'] };
  const schema = { allOf: [refTo('Problem'), { properties: { type } }] };
  const headers = { ...REQUEST_ID, ...(REPEATABLE.includes(status) && RETRY_AFTER) };
  return { description, headers, content: { 'application/problem+json': { schema } } };
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

/** `POST /v1/payouts/:partnerOrderId/approve` is `postPayoutsPartnerOrderIdApprove`. */
function operationId(method: string, path: string): string {
  const words = path.replace(/^\/v1/, '').match(/[A-Za-z]+/g) ?? [];
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}
