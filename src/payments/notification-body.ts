/**
 * Finds the `orderId`, the `partnerOrderId` and the status in a notification, whose format the spec does not show
 * (H36).
 */
import { isPlainText } from '../domain/provider-text.ts';
import { exactNumberText, isJsonObject, NotJsonError, readExactJson } from './exact-json.ts';
import { compact } from './wire/scalars.ts';

/** JSON pointers (RFC 6901) to the fields, as the provider states them. */
export interface NotificationFields {
  orderId?: string | undefined;
  partnerOrderId?: string | undefined;
  status?: string | undefined;
}

/** The fields of a notification (spec: Events). A hint, never a fact. */
export interface Notification {
  orderId?: string;
  partnerOrderId?: string;
  status?: string;
}

/** Thrown if a notification cannot be parsed. The message contains none of it. */
export class NotificationFormatError extends Error {
  override readonly name = 'NotificationFormatError';
  readonly code = 'MALFORMED_NOTIFICATION';
}

const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 16;
const MAX_TEXT = 64;

const PLACES = ['', '/data', '/receiver', '/data/receiver'];
const SPELLINGS: Record<keyof Notification, readonly string[]> = {
  orderId: ['order_id', 'orderId'],
  partnerOrderId: ['partner_order_id', 'partnerOrderId', 'outOrderId', 'out_order_id'],
  status: ['status'],
};

/**
 * Parses a notification: a JSON object of at most 64 KiB, at most 16 levels deep, without repeated keys, and with values
 * of at most 64 characters. Without a pointer, it looks for every spelling that the spec uses at the top level, in
 * `data`, in `receiver` and in `data.receiver`, in that order. Throws only `NotificationFormatError`.
 */
export function parseNotification(rawBody: Buffer, fields: NotificationFields = {}): Notification {
  if (rawBody.length > MAX_BYTES) throw new NotificationFormatError('over 64 KiB');
  const body = readBody(rawBody);
  if (!isJsonObject(body)) throw new NotificationFormatError('not a JSON object');
  return compact({
    orderId: find(body, 'orderId', fields),
    partnerOrderId: find(body, 'partnerOrderId', fields),
    status: find(body, 'status', fields),
  });
}

/** Whether the text is a JSON pointer (RFC 6901): `""`, or `/a/b` with the escapes `~0` and `~1`. */
export function isJsonPointer(pointer: string): boolean {
  return /^(\/([^/~]|~[01])*)*$/.test(pointer);
}

function readBody(rawBody: Buffer): unknown {
  try {
    return readExactJson(rawBody, { maxDepth: MAX_DEPTH, uniqueKeys: true });
  } catch (error) {
    throw new NotificationFormatError(error instanceof NotJsonError ? error.message : 'cannot be read');
  }
}

function find(body: unknown, field: keyof Notification, fields: NotificationFields): string | undefined {
  const pointer = fields[field];
  if (pointer !== undefined && !isJsonPointer(pointer))
    throw new NotificationFormatError(`the pointer to ${field} is not a JSON pointer`);
  const pointers =
    pointer === undefined
      ? PLACES.flatMap((place) => SPELLINGS[field].map((name) => `${place}/${name}`))
      : [pointer];
  for (const each of pointers) {
    const text = textOf(valueAt(body, each), field);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Text, or the digits of a number. Null, `""`, objects and other values count as absent. */
function textOf(value: unknown, field: string): string | undefined {
  const text = typeof value === 'string' ? value : exactNumberText(value);
  if (text === undefined || text === '') return undefined;
  if (text.length > MAX_TEXT) throw new NotificationFormatError(`${field} is over 64 characters`);
  if (!isPlainText(text)) throw new NotificationFormatError(`${field} contains control characters`);
  return text;
}

function valueAt(body: unknown, pointer: string): unknown {
  let value = body;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) value = /^(0|[1-9]\d{0,5})$/.test(key) ? value[Number(key)] : undefined;
    else value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}
