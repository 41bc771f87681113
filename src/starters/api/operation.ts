/** A route of the API server: its request and its response, for Fastify and for the OpenAPI document. */
import { z } from 'zod';
import type { Caller, Verb } from '../../config/callers.ts';
import { appName, type CheckResult, fieldErrors } from '../../contract/payout-request.ts';
import { isJsonObject } from '../../payments/exact-json.ts';
import { NdjsonRows } from './bodies.ts';
import { requireApplication } from './callers.ts';
import { invalidFields } from './problem.ts';

interface Description {
  method: 'GET' | 'POST';
  /** In OpenAPI notation: `/v1/payouts/{partnerOrderId}`. */
  path: string;
  verb: Verb;
  summary: string;
  response: { status: number; description: string; schema: z.ZodType };
  /** Error statuses besides 400, 401, 403 and 503. */
  problems?: Readonly<Record<number, string>>;
  /** Without `app` in the query, covers every application of the key. The handler limits itself to these. */
  everyApplication?: boolean;
  /** Has the parameter `wait`. */
  waits?: boolean;
}

interface Shapes<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> {
  params: P;
  query: Q;
  body: B;
  ndjson?: NdjsonForm<z.output<B>>;
}

/** A body in NDJSON, one payout per line. Its query has the other fields of the body. */
export interface NdjsonForm<Body> {
  query: z.ZodObject;
  read(query: unknown, rows: NdjsonRows): CheckResult<Body>;
}

export interface Operation extends Description, Shapes<z.ZodObject, z.ZodObject, z.ZodType> {
  /** Returns the body of the response. Throws `Problem`, and errors of the Temporal client. */
  run(call: {
    caller: Caller;
    params: unknown;
    query: unknown;
    body: unknown;
    gone: AbortSignal;
  }): Promise<unknown>;
}

interface Call<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> {
  caller: Caller;
  params: z.output<P>;
  query: z.output<Q>;
  body: z.output<B>;
  /** Aborted with `CallerGoneError` when the caller disconnects, for operations with `waits`. */
  gone: AbortSignal;
}

export const empty = z.strictObject({});
export const noBody = z.undefined();
export const appQuery = z.strictObject({ app: appName.default('default') });
export const startedFields = { workflowId: z.string(), runId: z.string(), app: z.string() };

/**
 * Before `handle` runs, validates the whole request and requires that the caller may use the application that it names. A
 * 400 names every invalid field of params, query and body.
 */
export function operation<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType>(
  description: Description,
  shapes: Shapes<P, Q, B>,
  handle: (call: Call<P, Q, B>) => Promise<unknown>,
): Operation {
  return {
    ...description,
    ...shapes,
    async run({ caller, gone, ...raw }) {
      const params = validate(shapes.params, raw.params);
      const rows = raw.body instanceof NdjsonRows ? raw.body : undefined;
      const query = validate(shapes.query, rows ? {} : raw.query);
      const body =
        rows && shapes.ndjson ? shapes.ndjson.read(raw.query, rows) : validate(shapes.body, raw.body);
      if (!params.ok || !query.ok || !body.ok)
        throw invalidFields([params, query, body].flatMap((part) => (part.ok ? [] : part.errors)));
      const app = applicationOf(params.value, body.value, query.value);
      if (app !== undefined) requireApplication(caller, app);
      else if (!description.everyApplication)
        throw new Error('the request of an operation must name an application');
      return handle({ caller, gone, params: params.value, query: query.value, body: body.value });
    },
  };
}

export function ndjsonForm<Q extends z.ZodObject, Body>(
  query: Q,
  bodyOf: (query: z.output<Q>, rows: NdjsonRows) => Body,
): NdjsonForm<Body> {
  return {
    query,
    read: (raw, rows) => {
      const checked = validate(query, raw);
      return checked.ok ? { ok: true, value: bodyOf(checked.value, rows) } : checked;
    },
  };
}

function applicationOf(...parts: unknown[]): string | undefined {
  for (const part of parts) if (isJsonObject(part) && typeof part['app'] === 'string') return part['app'];
  return undefined;
}

function validate<S extends z.ZodType>(schema: S, value: unknown): CheckResult<z.output<S>> {
  const parsed = schema.safeParse(value);
  return parsed.success ? { ok: true, value: parsed.data } : { ok: false, errors: fieldErrors(parsed.error) };
}
