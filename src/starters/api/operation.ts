/** A route of the API server: its request and its response, for Fastify and for the OpenAPI document. */
import { z } from 'zod';
import type { Caller, Verb } from '../../config/callers.ts';
import { appName, type CheckResult, checkBody } from '../../contract/fields.ts';
import { isJsonObject } from '../../payments/exact-json.ts';
import { requireApplication } from '../../service/permissions.ts';
import { invalidFields } from '../../service/problem.ts';
import { BatchFile } from '../batch-file/batch-file.ts';

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
  file?: FileForm<z.output<B>>;
}

/** A body that is a file of payouts. Its query has the other fields of the body. */
export interface FileForm<Body> {
  query: z.ZodObject;
  read(query: unknown, file: BatchFile): CheckResult<Body>;
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
/** Parsed to milliseconds. */
export const wait = z
  .string()
  .regex(/^([0-9]|[1-5][0-9]|60)s$/, 'must be a number of seconds from 0s to 60s')
  .transform((text) => Number.parseInt(text, 10) * 1_000)
  .optional()
  .describe('answers at the end, or after this time with the current state: 0s to 60s');

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
      const params = checkBody(shapes.params, raw.params);
      const file = raw.body instanceof BatchFile ? raw.body : undefined;
      const query = checkBody(shapes.query, file ? {} : raw.query);
      const body = file && shapes.file ? shapes.file.read(raw.query, file) : checkBody(shapes.body, raw.body);
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

export function fileForm<Q extends z.ZodObject, Body>(
  query: Q,
  bodyOf: (query: z.output<Q>, file: BatchFile) => Body,
): FileForm<Body> {
  return {
    query,
    read: (raw, file) => {
      const checked = checkBody(query, raw);
      return checked.ok ? { ok: true, value: bodyOf(checked.value, file) } : checked;
    },
  };
}

function applicationOf(...parts: unknown[]): string | undefined {
  for (const part of parts) if (isJsonObject(part) && typeof part['app'] === 'string') return part['app'];
  return undefined;
}
