/**
 * Verifies that a notification comes from the provider, and finds the `orderId`, the `partnerOrderId` and the status in it. The
 * spec defines neither a scheme nor a format (H36). A notification is only a hint, verified or not, but a rejected one is dropped
 * (H32).
 */
import { createHmac, createPublicKey, createVerify, type KeyObject, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { compact } from '../contract/compact.ts';
import { isPlainText } from '../domain/provider-text.ts';
import { PaymentsSettingError } from './errors.ts';
import { exactNumberText, isJsonObject, NotJsonError, readExactJson } from './exact-json.ts';
import { plugInMethod, rsaKey } from './signing.ts';

interface NotificationVerdict {
  result: 'verified' | 'unverified-accepted' | 'rejected';
  /** Why the notification was rejected. Contains none of it. */
  reason?: string;
}

export interface NotificationVerifier {
  /** Never rejects. */
  verify(input: NotificationInput): Promise<NotificationVerdict>;
}

type Check = (content: Buffer, signatures: readonly Buffer[]) => boolean;

const SETTING = 'PAYMENTS_NOTIFICATION_VERIFIER';
const SECRETS = 'PAYMENTS_NOTIFICATION_SECRETS';
const moduleVerdict = z.object({ verified: z.boolean() });

/**
 * Creates a verifier: `none`; `hmac-sha256` as in Standard Webhooks; `rsa-sha256`, the same format with public keys in
 * PEM; or `module:PATH`, whose default export is called with `{ secrets }` and returns an object with a method
 * `verify(input)` that returns `{ verified }`. Throws `PaymentsSettingError`. The spec's section "Events" does not
 * define how to verify notifications.
 *
 * @param secrets newest first. A signature by any of them is valid.
 */
export async function createNotificationVerifier(
  setting: string,
  secrets: readonly string[],
): Promise<NotificationVerifier> {
  if (setting === 'none') return { verify: async () => ({ result: 'unverified-accepted' }) };
  if (setting === 'hmac-sha256') return webhookVerifier(hmacMatches(requireSecrets(secrets).map(hmacKey)));
  if (setting === 'rsa-sha256')
    return webhookVerifier(
      rsaMatches(
        requireSecrets(secrets).map((pem) => rsaKey(SECRETS, 'RSA public keys', createPublicKey, pem)),
      ),
    );
  if (setting.startsWith('module:')) return moduleVerifier(setting.slice('module:'.length), secrets);
  throw new PaymentsSettingError(SETTING, 'must be none, hmac-sha256, rsa-sha256 or module:PATH');
}

function webhookVerifier(check: Check): NotificationVerifier {
  return {
    verify: async (input) => {
      const signed = signedNotification(input);
      if ('problem' in signed) return rejected(signed.problem);
      return check(signed.content, signed.signatures) ? VERIFIED : rejected('the signature does not match');
    },
  };
}

async function moduleVerifier(path: string, secrets: readonly string[]): Promise<NotificationVerifier> {
  const verify = await plugInMethod(SETTING, path, { secrets }, 'verify');
  return {
    verify: async (input) => {
      try {
        const verdict = moduleVerdict.parse(await verify(input));
        return verdict.verified ? VERIFIED : rejected('the module rejected it');
      } catch {
        return rejected('the module failed');
      }
    },
  };
}

const VERIFIED: NotificationVerdict = { result: 'verified' };

function rejected(reason: string): NotificationVerdict {
  return { result: 'rejected', reason };
}

function requireSecrets(secrets: readonly string[]): readonly string[] {
  if (secrets.length === 0 || secrets.includes(''))
    throw new PaymentsSettingError(SECRETS, 'must have at least one secret, and none may be empty');
  return secrets;
}

/** In Standard Webhooks, the prefix `whsec_` marks a base64 key. Any other text is the key itself. */
function hmacKey(secret: string): Buffer {
  if (!secret.startsWith('whsec_')) return Buffer.from(secret, 'utf8');
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  if (key.length > 0) return key;
  throw new PaymentsSettingError(SECRETS, 'contain a whsec_ secret that is not base64');
}

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

/** The maximum difference between the sender's clock and ours, in either direction. */
const CLOCK_WINDOW_MS = 5 * 60_000;

/** More than any rotation needs. It bounds the work that a forged notification can cause. */
const MAX_SIGNATURES = 8;

export interface NotificationInput {
  /** The bytes as received. */
  rawBody: Buffer;
  /** The headers with lowercase names, as in Node. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The current time in Unix milliseconds. */
  now: number;
}

type SignedNotification = { content: Buffer; signatures: Buffer[] } | { problem: string };

/** The signed content and its signatures, or why the headers are not usable. */
export function signedNotification({ headers, rawBody, now }: NotificationInput): SignedNotification {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signature = headers['webhook-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string')
    return { problem: 'a webhook header is missing or repeated' };
  if (!/^[\x21-\x7e]{1,256}$/.test(id)) return { problem: 'the webhook-id is not usable' };
  if (!/^\d{1,12}$/.test(timestamp)) return { problem: 'the webhook-timestamp is not in seconds' };
  if (Math.abs(now - Number(timestamp) * 1000) > CLOCK_WINDOW_MS)
    return { problem: 'the webhook-timestamp is outside the clock window' };
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), rawBody]);
  return { content, signatures: signaturesIn(signature) };
}

/** Compares every signature with every key in constant time, so that the timing reveals nothing. */
export function hmacMatches(keys: readonly Buffer[]) {
  return (content: Buffer, signatures: readonly Buffer[]): boolean => {
    let matches = false;
    for (const key of keys) {
      const expected = createHmac('sha256', key).update(content).digest();
      for (const signature of signatures)
        if (signature.length === expected.length && timingSafeEqual(signature, expected)) matches = true;
    }
    return matches;
  };
}

/** RSASSA-PKCS1-v1_5 with SHA-256 over the same content. */
export function rsaMatches(keys: readonly KeyObject[]) {
  return (content: Buffer, signatures: readonly Buffer[]): boolean =>
    keys.some((key) =>
      signatures.some((signature) => createVerify('sha256').update(content).verify(key, signature)),
    );
}

function signaturesIn(header: string): Buffer[] {
  return header
    .split(' ', MAX_SIGNATURES)
    .filter((part) => /^v1,[A-Za-z0-9+/]+={0,2}$/.test(part))
    .map((part) => Buffer.from(part.slice('v1,'.length), 'base64'));
}
