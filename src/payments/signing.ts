/**
 * Signs the requests under `/v1/mid-open-api`. The spec (Authentication) defines neither the algorithm nor the signed
 * content nor the header. The built-in signers sign `METHOD\npath\ntimestamp\nbody`; `module:PATH` implements any other
 * scheme.
 */
import { createHmac, createPrivateKey, createSign, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { PaymentsSettingError } from './errors.ts';
import { loadPlugIn, methodOf } from './plug-in.ts';

export interface SigningInput {
  method: string;
  /** The path on the wire, without the query. */
  path: string;
  /** The exact bytes of the body. */
  body: Buffer;
  /** Unix milliseconds. */
  timestamp: number;
}

/** Returns the headers to add. They cannot replace the client's own headers. */
export interface RequestSigner {
  sign(input: SigningInput): Record<string, string> | Promise<Record<string, string>>;
}

export interface SignatureHeaders {
  /** The name of the header with the base64 signature. Default `x-signature`. */
  signature?: string;
  /** The name of the header with the timestamp in Unix milliseconds. Default `x-timestamp`. */
  timestamp?: string;
}

const SETTING = 'PAYMENTS_SIGNER';

const RESERVED =
  /^(host|authorization|connection|content-.*|transfer-encoding|x-request-id|accept|user-agent)$/;

/** The headers that a module's signer may return: plain names, and values of printable ASCII characters. */
const signedHeaders = z.record(
  z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/)
    .refine((name) => !RESERVED.test(name.toLowerCase())),
  z.string().regex(/^[\x20-\x7e]{1,8192}$/),
);

/**
 * Creates a signer: `none`, `hmac-sha256` (key: text), `rsa-sha256` (key: private key in PEM) or `module:PATH`, whose
 * default export is called with `{ key }` and returns a `RequestSigner`. Throws `PaymentsSettingError`.
 */
export async function createSigner(
  setting: string,
  key?: string,
  headers: SignatureHeaders = {},
): Promise<RequestSigner> {
  if (setting === 'none') return { sign: () => ({}) };
  if (setting === 'hmac-sha256') return hmacSigner(requireKey(key), headers);
  if (setting === 'rsa-sha256') return rsaSigner(privateKey(requireKey(key)), headers);
  if (setting.startsWith('module:')) return moduleSigner(setting.slice('module:'.length), key);
  throw new PaymentsSettingError(SETTING, 'must be none, hmac-sha256, rsa-sha256 or module:PATH');
}

/** The content that the built-in signers sign. */
export function signedContent({ method, path, body, timestamp }: SigningInput): Buffer {
  return Buffer.concat([Buffer.from(`${method}\n${path}\n${timestamp}\n`), body]);
}

function hmacSigner(key: string, headers: SignatureHeaders): RequestSigner {
  return {
    sign: (input) =>
      signatureHeaders(
        headers,
        input,
        createHmac('sha256', key).update(signedContent(input)).digest('base64'),
      ),
  };
}

function rsaSigner(key: KeyObject, headers: SignatureHeaders): RequestSigner {
  return {
    sign: (input) =>
      signatureHeaders(headers, input, createSign('sha256').update(signedContent(input)).sign(key, 'base64')),
  };
}

async function moduleSigner(path: string, key: string | undefined): Promise<RequestSigner> {
  const plugIn = await loadPlugIn(SETTING, path, { key });
  const sign = methodOf(SETTING, plugIn, 'sign');
  return { sign: async (input) => signedHeaders.parse(await sign(input)) };
}

function signatureHeaders(
  headers: SignatureHeaders,
  input: SigningInput,
  signature: string,
): Record<string, string> {
  return {
    [headers.signature ?? 'x-signature']: signature,
    [headers.timestamp ?? 'x-timestamp']: String(input.timestamp),
  };
}

function requireKey(key: string | undefined): string {
  if (key === undefined || key === '') throw new PaymentsSettingError('PAYMENTS_SIGNING_KEY', 'is required');
  return key;
}

function privateKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // Fall through to the same error as for another kind of key: the message must not contain the key.
  }
  throw new PaymentsSettingError('PAYMENTS_SIGNING_KEY', 'must be an RSA private key in PEM');
}
