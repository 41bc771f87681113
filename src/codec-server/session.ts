/** Who may decode. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

export const COOKIE = 'payouts_codec';

/** A bearer key as a header, or in the cookie of the sign-in page. Without keys everybody may. */
export function isAuthorized(keys: readonly string[], request: FastifyRequest): boolean {
  if (keys.length === 0) return true;
  const [, bearer] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  return [bearer, request.cookies[COOKIE]].some((key) => key !== undefined && isKnownKey(keys, key));
}

/** Hashes are of one length, so that comparing them tells nothing about the keys. */
export function isKnownKey(keys: readonly string[], given: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest();
  return keys.filter((key) => timingSafeEqual(hash(key), hash(given))).length > 0;
}
