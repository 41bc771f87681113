/**
 * Signs the requests under `/v1/mid-open-api`. The spec shows neither algorithm, signed content nor place:
 * the built-in signers sign `METHOD\npath\ntimestamp\nbody`, and `module:PATH` does whatever is right.
 */
import { createHmac, createPrivateKey, createSign, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { PaymentsSettingError } from './errors.ts';
import { loadPlugIn, methodOf } from './plug-in.ts';

export interface SigningInput {
  method: string;
  /** As on the wire, without a query. */
  path: string;
  /** The exact bytes sent. */
  body: Buffer;
  /** Milliseconds since 1970. */
  timestamp: number;
}

/** Gives the headers to add. They cannot replace those the client itself writes. */
export interface RequestSigner {
  sign(input: SigningInput): Record<string, string> | Promise<Record<string, string>>;
}

export interface SignatureHeaders {
  /** Default `x-signature`: base64. */
  signature?: string;
  /** Default `x-timestamp`: milliseconds since 1970. */
  timestamp?: string;
}

const SETTING = 'PAYMENTS_SIGNER';

const RESERVED =
  /^(host|authorization|connection|content-.*|transfer-encoding|x-request-id|accept|user-agent)$/;

/** What a module's signer may answer: plain header names and values of visible characters. */
const signedHeaders = z.record(
  z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/)
    .refine((name) => !RESERVED.test(name.toLowerCase())),
  z.string().regex(/^[\x20-\x7e]{1,8192}$/),
);

/**
 * `none`, `hmac-sha256` (key: text), `rsa-sha256` (key: PEM private key) or `module:PATH`, whose default
 * export is called with `{ key }` and answers a `RequestSigner`. Throws `PaymentsSettingError`.
 */
export async function createSigner(
  setting: string,
  key?: string,
  headers: SignatureHeaders = {},
): Promise<RequestSigner> {
  if (setting === 'none') return { sign: () => ({}) };
  if (setting === 'hmac-sha256') return hmacSigner(neededKey(key), headers);
  if (setting === 'rsa-sha256') return rsaSigner(privateKey(neededKey(key)), headers);
  if (setting.startsWith('module:')) return moduleSigner(setting.slice('module:'.length), key);
  throw new PaymentsSettingError(SETTING, 'must be none, hmac-sha256, rsa-sha256 or module:PATH');
}

/** What the built-in signers sign. */
export function signedContent({ method, path, body, timestamp }: SigningInput): Buffer {
  return Buffer.concat([Buffer.from(`${method}\n${path}\n${timestamp}\n`), body]);
}

function hmacSigner(key: string, headers: SignatureHeaders): RequestSigner {
  return {
    sign: (input) =>
      written(headers, input, createHmac('sha256', key).update(signedContent(input)).digest('base64')),
  };
}

function rsaSigner(key: KeyObject, headers: SignatureHeaders): RequestSigner {
  return {
    sign: (input) =>
      written(headers, input, createSign('sha256').update(signedContent(input)).sign(key, 'base64')),
  };
}

async function moduleSigner(path: string, key: string | undefined): Promise<RequestSigner> {
  const plugIn = await loadPlugIn(SETTING, path, { key });
  const sign = methodOf(SETTING, plugIn, 'sign');
  return { sign: async (input) => signedHeaders.parse(await sign(input)) };
}

function written(headers: SignatureHeaders, input: SigningInput, signature: string): Record<string, string> {
  return {
    [headers.signature ?? 'x-signature']: signature,
    [headers.timestamp ?? 'x-timestamp']: String(input.timestamp),
  };
}

function neededKey(key: string | undefined): string {
  if (key === undefined || key === '') throw new PaymentsSettingError('PAYMENTS_SIGNING_KEY', 'is needed');
  return key;
}

function privateKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // The same answer as for another kind of key: nothing of the key may be quoted.
  }
  throw new PaymentsSettingError('PAYMENTS_SIGNING_KEY', 'must be an RSA private key in PEM');
}
