/** Signs a notification in the style of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. */
import { createHmac } from 'node:crypto';

const BASE64_PREFIX = 'whsec_';

export function signatureHeaders(
  secret: string,
  id: string,
  atWallMs: number,
  body: string,
): Record<string, string> {
  const timestamp = Math.floor(atWallMs / 1000).toString();
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

function keyOf(secret: string): Buffer {
  return secret.startsWith(BASE64_PREFIX)
    ? Buffer.from(secret.slice(BASE64_PREFIX.length), 'base64')
    : Buffer.from(secret, 'utf8');
}
