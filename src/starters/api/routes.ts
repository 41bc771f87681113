/** Authorizes, validates and documents the operations of the API. */
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import { z } from 'zod';
import { BatchFile } from '../../batch-file/batch-file.ts';
import { CONTENT_TYPES } from '../../batch-file/statement-file.ts';
import type { Caller, Verb } from '../../config/callers.ts';
import { appName, checkBody } from '../../contract/fields.ts';
import { statementSchema } from '../../contract/statement.ts';
import type { AuditLog } from '../../http/audit.ts';
import { callerOf, type ReloadedCallers, requireOneHeader } from '../../http/authentication.ts';
import { goneSignal } from '../../http/connections.ts';
import { exactNumberText, isJsonObject, NotJsonError, readExactJson } from '../../payments/exact-json.ts';
import { requireVerb } from '../../service/permissions.ts';
import { invalidFields, Problem } from '../../service/problem.ts';
import type { Waiting } from '../../service/waits.ts';

export interface Response {
  description: string;
  /** Default: JSON if there is a schema. */
  type?: string;
  schema?: z.ZodType;
  /** Other types that a request may choose. */
  others?: readonly string[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The permission that the caller needs. */
    verb?: Verb;
    /** Has the parameter `wait`. */
    waits?: boolean;
  }
  interface FastifySchema {
    /** Routes with a summary are in the OpenAPI document. */
    summary?: string;
    responses?: Readonly<Record<number, Response>>;
    /** Error responses by status, beside those that every operation has. */
    problems?: Readonly<Record<number, string>>;
    /** The field that makes the request safe to repeat, which an `Idempotency-Key` must equal. */
    ownId?: string;
    /** The query of a request whose body is a file of payouts; it has the other fields of the body. */
    fileQuery?: z.ZodType;
  }
}

interface ZodTypeProvider extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown;
}

/** A scope whose handlers get what its schemas return. */
export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export const noBody = z.undefined();
export const appQuery = z.strictObject({ app: appName.default('default') });

/** Parsed to milliseconds. */
export const wait = z
  .string()
  .regex(/^([0-9]|[1-5][0-9]|60)s$/, 'must be a number of seconds from 0s to 60s')
  .transform((text) => Number.parseInt(text, 10) * 1_000)
  .optional()
  .describe('waits for the end, or for this time, and returns the current state: 0s to 60s');

/** The formats of a statement. */
export const statementResponse = {
  description: 'The statement, while it is read. Without its end, it is not complete',
  schema: statementSchema,
  others: [CONTENT_TYPES.ndjson, CONTENT_TYPES.csv],
};

/** Documents the read of a workflow. `name`: such as `payout`. */
export function snapshot(name: string, state: z.ZodType, result: z.ZodType, more: z.ZodRawShape = {}) {
  return {
    summary: `Get the state of a ${name} and, after its end, its result`,
    responses: {
      200: {
        description: 'The state and, after the end, the result',
        schema: z.strictObject({ state, result: result.exactOptional(), ...more }),
      },
    },
    problems: {
      404: `no such ${name}`,
      409: 'the start was rejected as bad input; errors has the fields',
    },
  };
}

/** The workflow that a start began or joined. `idName`: the name of the caller's own id. */
export function started(idName: string) {
  return z.strictObject({ workflowId: z.string(), runId: z.string(), app: z.string(), [idName]: z.string() });
}

/** Documents a decision about a workflow. */
export function decided(name: string, state: z.ZodType) {
  return {
    responses: { 200: { description: 'Accepted; the new state', schema: state } },
    problems: { 404: `no such ${name}`, 409: 'not accepted now; detail says why' },
  };
}

export const empty = z.strictObject({});
/** The rows of a batch have fewer values in 4 MiB. */
const LIMITS = { maxDepth: 16, maxValues: 500_000, uniqueKeys: true };

/** Registers `operations`, each with a `verb`, in a scope of their own. */
export function serveOperations(
  server: FastifyInstance,
  callers: ReloadedCallers,
  audit: AuditLog,
  operations: (api: Api) => void,
): void {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    acceptJson(scope, async (bytes) => parseJson(bytes));
    // The hook validates all parts, so that one response names every bad field.
    scope.setValidatorCompiler(() => () => true);
    scope.setSerializerCompiler(() => (response) => JSON.stringify(response));
    scope.addHook('onRoute', (route) => {
      const { config: { verb } = {}, schema = {} } = route;
      if (verb === undefined) throw new Error(`${route.url} requires no verb`);
      const hasAppInQuery = schema.querystring instanceof z.ZodObject && 'app' in schema.querystring.shape;
      const path = route.url.replaceAll(/:(\w+)/g, '{$1}');
      route.onSend = audit.recorder({ method: String(route.method), path, verb, hasAppInQuery });
    });
    // Before the body is read, so that unauthorized requests cost no memory.
    scope.addHook('onRequest', async (request) => {
      const caller = callerOf(callers, request);
      callers.limits.takeRequest(caller);
      requireOwnVerb(request, caller);
      requireReadableBody(request);
    });
    scope.addHook('preHandler', async (request, reply) => {
      validate(request);
      const [status] = Object.keys(request.routeOptions.schema?.responses ?? {});
      reply.code(Number(status));
    });
    scope.addHook('preSerialization', async (request, reply, payload) => {
      if (reply.statusCode >= 400) return payload;
      // The key may have been removed during the wait.
      if (request.routeOptions.config.waits) requireOwnVerb(request, callerOf(callers, request));
      reply.header('cache-control', 'no-store');
      return payload;
    });
    operations(scope.withTypeProvider<ZodTypeProvider>());
  });
}

function requireOwnVerb({ routeOptions: { config } }: FastifyRequest, caller: Caller): void {
  if (config.verb !== undefined) requireVerb(caller, config.verb);
}

/** A 400 names every invalid field of the path, the query and the body. */
function validate(request: FastifyRequest): void {
  const { schema = {} } = request.routeOptions;
  const isFile = request.body instanceof BatchFile;
  // What its handler reads, the handler validates.
  const isUnread = isFile || typeof request.body === 'function';
  const params = checkBody(zodOr(schema.params, empty), request.params);
  const query = checkBody(zodOr(isFile ? schema.fileQuery : schema.querystring, empty), request.query);
  const body = checkBody(isUnread ? z.unknown() : zodOr(schema.body, noBody), request.body ?? undefined);
  if (!body.ok && request.body === null)
    throw invalidFields([{ path: '', message: 'the body is null: send a JSON object' }]);
  if (!body.ok && request.body === undefined)
    throw invalidFields([{ path: '', message: 'the body is empty: send a JSON object' }]);
  if (!params.ok || !query.ok || !body.ok)
    throw invalidFields([params, query, body].flatMap((part) => (part.ok ? [] : part.errors)));
  if (schema.ownId !== undefined) requireSameKey(request, schema.ownId, [query.value, body.value]);
  request.params = params.value;
  request.query = query.value;
  request.body = body.value;
}

export const IDEMPOTENCY_KEY = 'Idempotency-Key';

/** A caller that sends another key expects that two payouts with it are one, or that two with one id are two. */
function requireSameKey({ headers }: FastifyRequest, ownId: string, parts: readonly unknown[]): void {
  const key = headers['idempotency-key'];
  if (key === undefined || parts.some((part) => isJsonObject(part) && part[ownId] === key)) return;
  const message = `must equal ${ownId}, which makes the request safe to repeat: send the same value in both, or leave the header out`;
  throw invalidFields([{ path: IDEMPOTENCY_KEY, message }]);
}

/** Fastify does not know of what type a schema is. */
export function zodOr(schema: unknown, other: z.ZodType): z.ZodType {
  return schema instanceof z.ZodType ? schema : other;
}

/** For a read that may wait until the end of its workflow. */
export function waitingFor(forMs: number | undefined, reply: FastifyReply): Waiting {
  return { forMs, gone: goneSignal(reply) };
}

/**
 * Accepts JSON only, and rejects what other parsers may read differently: duplicate keys, deep nesting, repeated headers.
 */
export function acceptJson(
  scope: Pick<Api, 'removeContentTypeParser' | 'addContentTypeParser'>,
  read: (bytes: unknown) => Promise<unknown>,
): void {
  scope.removeContentTypeParser('application/json');
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request: unknown, body: unknown) =>
    read(body),
  );
}

/** Throws a 400 for what Fastify would ignore: the body of a GET, and a second content type. */
function requireReadableBody(request: FastifyRequest): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (request.method === 'GET' && (length !== '0' || encoding !== undefined))
    throw new Problem('malformed-request', 'this route takes no body');
  requireOneHeader(request, 'content-type');
}

/** Numbers as usual: no field of ours needs their exact digits. */
export function parseJson(bytes: unknown): unknown {
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return undefined;
  try {
    return withoutExactNumbers(readExactJson(bytes, LIMITS));
  } catch (error) {
    if (error instanceof NotJsonError)
      throw new Problem('malformed-request', `the body is invalid: ${error.message}`);
    throw error;
  }
}

function withoutExactNumbers(value: unknown): unknown {
  const digits = exactNumberText(value);
  if (digits !== undefined) return Number(digits);
  if (Array.isArray(value)) return value.map(withoutExactNumbers);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutExactNumbers(one)]));
}
