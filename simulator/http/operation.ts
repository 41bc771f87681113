/**
 * One endpoint of the spec: its path, envelope, authorization and handler. An invalid body is refused with 900002 and the
 * field's name, without its value.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isLosslessNumber, type LosslessNumber } from 'lossless-json';
import { z } from 'zod';
import type { OperationName } from '../faults/rules.ts';
import { parseJson } from '../json.ts';
import { parseMinor } from '../money.ts';
import type { Order } from '../orders/order.ts';
import type { App } from '../settings.ts';
import type { AccessToken } from '../state/tokens.ts';
import type { World } from '../world.ts';
import { illegalParam, type Style } from './envelope.ts';

export interface Received {
  world: World;
  /** Undefined until the request is authorized, and for operations without a token. */
  app: App | undefined;
  token: AccessToken | undefined;
  params: Record<string, string>;
  query: Record<string, string>;
  headers: IncomingHttpHeaders;
  rawBody: string;
}

export interface Outcome {
  data: unknown;
  status?: number;
  /** The order that this request created. */
  created?: Order;
  /** Runs before the answer is sent: an early notification. */
  beforeAnswer?: () => Promise<void>;
}

export interface Operation {
  name: OperationName;
  method: 'GET' | 'POST';
  path: string;
  style: Style;
  auth: 'none' | 'gateway' | 'trade';
  /** Checks and commits synchronously, so that nothing happens in between. Throws `Refusal`. */
  handle: (received: Received) => Outcome;
  /** Returns the data of a success, without its effect. Throws `Refusal`. */
  preview?: (received: Received) => unknown;
}

export function readBody<Schema extends z.ZodType>(rawBody: string, schema: Schema): z.output<Schema> {
  const parsed = schema.safeParse(parsedOrRefused(rawBody));
  if (parsed.success) return parsed.data;
  throw illegalParam(parsed.error.issues[0]?.path.join('.') || 'body');
}

/** The parsed body; undefined if it is not JSON. */
export function parsedOrNothing(rawBody: string): unknown {
  try {
    return parseJson(rawBody);
  } catch {
    return undefined;
  }
}

function parsedOrRefused(rawBody: string): unknown {
  const body = parsedOrNothing(rawBody);
  if (body === undefined) throw illegalParam('body is not JSON');
  return body;
}

/** An amount: a JSON number of at most 18 digits, two of them decimals, parsed without rounding. Text is refused. */
export const amount = z
  .custom<LosslessNumber>((value) => isLosslessNumber(value))
  .transform((number, context) => {
    const minor = parseMinor(number.toString());
    if (minor !== undefined && minor > 0n) return minor;
    context.addIssue({ code: 'custom', message: 'not an amount' });
    return z.NEVER;
  });

export const text = z.string().min(1);
export const text64 = text.max(64);
export const currency = z.string().regex(/^[A-Z]{3}$/);
/** Optional fields may also be sent as null. */
export const optionalText = z.string().nullish();
