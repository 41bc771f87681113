/** Finds order number, partner number and status in a notification, whose form the spec does not show (H36). */
import { exactNumberText, isJsonObject, NotJsonError, readExactJson } from './exact-json.ts';

/** JSON pointers (RFC 6901) to where the operator of the service says that they stand. */
export interface NotificationFields {
  orderId?: string | undefined;
  partnerOrderId?: string | undefined;
  status?: string | undefined;
}

/** A hint, never a truth. */
export interface Notification {
  orderId?: string;
  partnerOrderId?: string;
  status?: string;
}

/** Thrown when a notification cannot be read. Quotes nothing of it. */
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
 * At most 64 KiB of JSON, an object, 16 deep, no key twice, values of at most 64 characters; throws
 * `NotificationFormatError` and nothing else. Without a pointer every spelling of the spec is looked for:
 * at the top, in `data`, in `receiver` and in `data.receiver`, in that order.
 */
export function parseNotification(rawBody: Buffer, fields: NotificationFields = {}): Notification {
  if (rawBody.length > MAX_BYTES) throw new NotificationFormatError('over 64 KiB');
  const body = readBody(rawBody);
  if (!isJsonObject(body)) throw new NotificationFormatError('not a JSON object');
  const orderId = find(body, 'orderId', fields);
  const partnerOrderId = find(body, 'partnerOrderId', fields);
  const status = find(body, 'status', fields);
  return {
    ...(orderId !== undefined && { orderId }),
    ...(partnerOrderId !== undefined && { partnerOrderId }),
    ...(status !== undefined && { status }),
  };
}

/** True for `""` and for `/a/b`, with `~0` and `~1` as RFC 6901 has them. */
export function isJsonPointer(pointer: string): boolean {
  return /^(\/([^/~]|~[01])*)*$/.test(pointer);
}

function readBody(rawBody: Buffer): unknown {
  try {
    return readExactJson(rawBody, { maxDepth: MAX_DEPTH, uniqueKeys: true });
  } catch (error) {
    throw new NotificationFormatError(error instanceof NotJsonError ? error.message : 'not readable');
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

/** Text, or a number's digits; null, `""`, objects and the like count as not there. */
function textOf(value: unknown, field: string): string | undefined {
  const text = typeof value === 'string' ? value : exactNumberText(value);
  if (text === undefined || text === '') return undefined;
  if (text.length > MAX_TEXT) throw new NotificationFormatError(`${field} is over 64 characters`);
  if (/[\p{Cc}\p{Cs}]/u.test(text)) throw new NotificationFormatError(`${field} holds control characters`);
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
