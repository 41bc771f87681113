/** Signs events as Standard Webhooks says: HMAC-SHA256 (`v1`) and Ed25519 (`v1a`), with each of the current keys. */
import { createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';

export type SigningKey = { kind: 'hmac'; key: Buffer } | { kind: 'ed25519'; key: KeyObject };

const HMAC_PREFIX = 'whsec_';
const ED25519_PREFIX = 'whsk_';
const MIN_HMAC_BYTES = 24;
const MAX_HMAC_BYTES = 64;
const SEED_BYTES = 32;
/** A seed in PKCS #8 (RFC 8410). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The key of `whsec_…` or `whsk_…`, or what is wrong with it. Never quotes it. */
export function readSigningKey(secret: string): SigningKey | { problem: string } {
  if (secret.startsWith(HMAC_PREFIX)) {
    const key = bytesOf(secret.slice(HMAC_PREFIX.length));
    return key && key.length >= MIN_HMAC_BYTES && key.length <= MAX_HMAC_BYTES
      ? { kind: 'hmac', key }
      : { problem: `must be whsec_ and ${MIN_HMAC_BYTES} to ${MAX_HMAC_BYTES} bytes in base64` };
  }
  if (secret.startsWith(ED25519_PREFIX)) {
    const key = ed25519Key(bytesOf(secret.slice(ED25519_PREFIX.length)));
    return key
      ? { kind: 'ed25519', key }
      : {
          problem:
            'must be whsk_ and an Ed25519 private key in base64: the seed, or the seed and its public key',
        };
  }
  return { problem: 'must begin with whsec_ or whsk_' };
}

function bytesOf(base64: string): Buffer | undefined {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : undefined;
}

function ed25519Key(bytes: Buffer | undefined): KeyObject | undefined {
  if (bytes?.length !== SEED_BYTES && bytes?.length !== 2 * SEED_BYTES) return undefined;
  const der = Buffer.concat([PKCS8_HEAD, bytes.subarray(0, SEED_BYTES)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const isWhole = bytes.length === SEED_BYTES || publicBytes(key).equals(bytes.subarray(SEED_BYTES));
  return isWhole ? key : undefined;
}

function publicBytes(key: KeyObject): Buffer {
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-SEED_BYTES);
}

/** The headers of one attempt. `atMs`: the time of the attempt, Unix milliseconds. */
export function signedHeaders(
  keys: readonly SigningKey[],
  { id, body, atMs }: { id: string; body: string; atMs: number },
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const content = Buffer.from(`${id}.${timestamp}.${body}`);
  return {
    'content-type': 'application/json',
    'user-agent': 'durable-payouts',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => signature(key, content)).join(' '),
  };
}

function signature({ kind, key }: SigningKey, content: Buffer): string {
  if (kind === 'hmac') return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  return `v1a,${sign(null, content, key).toString('base64')}`;
}
