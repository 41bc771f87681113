/** A route of the API server: what it takes and answers, for Fastify and for the OpenAPI document alike. */
import { z } from 'zod';
import type { Caller, Verb } from '../../config/callers.ts';
import { appName, type CheckResult, fieldErrors, identifier } from '../../contract/payout-request.ts';
import { badFields } from './problem.ts';

export interface Answer {
  status: number;
  body: unknown;
}

/** What came in, not looked at yet. */
export interface RawCall {
  caller: Caller;
  params: unknown;
  query: unknown;
  body: unknown;
}

export interface Described {
  method: 'GET' | 'POST';
  /** As OpenAPI writes it: `/v1/payouts/{partnerOrderId}`. */
  path: string;
  verb: Verb;
  summary: string;
  answer: { status: number; description: string; schema: z.ZodType };
  /** What it answers beside 400, 401, 403 and 503. */
  problems?: Readonly<Record<number, string>>;
  /** Also takes one object a line. */
  ndjson?: boolean;
}

export interface Operation extends Described {
  params: z.ZodObject;
  query: z.ZodObject;
  body: z.ZodType;
  run(call: RawCall): Promise<Answer>;
}

interface Shapes<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> {
  params: P;
  query: Q;
  body: B;
}

interface Call<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> {
  caller: Caller;
  params: z.output<P>;
  query: z.output<Q>;
  body: z.output<B>;
}

export const nothing = z.strictObject({});
export const noBody = z.undefined();
export const ofPayout = z.strictObject({ partnerOrderId: identifier() });
export const ofApp = z.strictObject({ app: appName.default('default') });

/** Checks everything that came before `handle` sees any of it; a 400 names every bad field of all of it. */
export function operation<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType>(
  described: Described,
  shapes: Shapes<P, Q, B>,
  handle: (call: Call<P, Q, B>) => Promise<unknown>,
): Operation {
  return {
    ...described,
    ...shapes,
    async run(raw) {
      const params = read(shapes.params, raw.params);
      const query = read(shapes.query, raw.query);
      const body = read(shapes.body, raw.body);
      if (!params.ok || !query.ok || !body.ok)
        throw badFields([params, query, body].flatMap((part) => (part.ok ? [] : part.errors)));
      const call = { caller: raw.caller, params: params.value, query: query.value, body: body.value };
      return { status: described.answer.status, body: await handle(call) };
    },
  };
}

function read<S extends z.ZodType>(schema: S, value: unknown): CheckResult<z.output<S>> {
  const parsed = schema.safeParse(value);
  return parsed.success ? { ok: true, value: parsed.data } : { ok: false, errors: fieldErrors(parsed.error) };
}
