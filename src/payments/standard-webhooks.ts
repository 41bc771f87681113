/** The format of Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,<base64> …`. */
import { createHmac, createVerify, type KeyObject, timingSafeEqual } from 'node:crypto';

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
